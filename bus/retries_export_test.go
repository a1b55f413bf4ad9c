package bus

// Retries are what becomes of the reasons of failed attempts to reach the broker.
type Retries = retries

// IsNews says whether a reason is logged.
func (r *retries) IsNews(reason string) bool { return r.isNews(reason) }

// Over says that the broker is back.
func (r *retries) Over() { r.over() }

// Report has the broker client report a fault of the connection.
func Report(conn *Conn, err error) { conn.link.report(conn.NATS(), nil, err) }
