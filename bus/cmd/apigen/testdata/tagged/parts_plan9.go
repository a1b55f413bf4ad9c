package tagged

// Parts of another.
type Parts interface{ Glenda(speed int) (err error) }
