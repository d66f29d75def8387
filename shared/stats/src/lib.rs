//! Histograms, counters and the text of reports.
