"""The notebook run by papermill, the page made by nbconvert."""
