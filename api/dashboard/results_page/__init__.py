"""The results page: verdict, checks of the data, goals with their intervals, and changes over time."""
