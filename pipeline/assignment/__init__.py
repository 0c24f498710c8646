"""Assignment of visitors to variants at run time."""
