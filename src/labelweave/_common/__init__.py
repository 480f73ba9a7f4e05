"""The ground floor: private modules, ignorant of models and data sets, for all other packages."""
