"""The conventions in which models write calls into text, one file each; `table.CONVENTIONS` lists them."""
