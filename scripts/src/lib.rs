//! Runs servers and load tools against each other and says what each is worth.
