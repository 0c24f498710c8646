"""Charts of reports, as Vega-Lite specifications by Altair."""
