"""Tables in files (CSV, Parquet, C4.5 files, ARFF), and atomic writing of files."""
