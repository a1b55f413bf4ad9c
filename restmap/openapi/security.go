package openapi

// bearerScheme is the one way in which callers of the bus say who they are: a JWT.
const bearerScheme = "bearer"

// SecurityScheme says how a caller proves who it is.
type SecurityScheme struct {
	Type         string `json:"type"` // "http"
	Scheme       string `json:"scheme,omitempty"`
	BearerFormat string `json:"bearerFormat,omitempty"`
}

// bearer is what an operation asks for that asks for a token.
func bearer() []map[string][]string { return []map[string][]string{{bearerScheme: {}}} }

// secure makes the security of a document that of the bus: an operation asks for a token or for nothing, whatever its
// author calls that.
func (d *Document) secure() {
	for _, item := range d.Paths {
		for _, operation := range item.Operations() {
			if len(operation.Security) > 0 {
				operation.Security = bearer()
			}
		}
	}
	d.nameScheme()
}

// nameScheme has the document say what a token is when one of its operations asks for one. It changes no operation.
func (d *Document) nameScheme() {
	d.Components.SecuritySchemes = nil
	for _, item := range d.Paths {
		for _, operation := range item.Operations() {
			if len(operation.Security) > 0 {
				d.Components.SecuritySchemes = map[string]*SecurityScheme{
					bearerScheme: {Type: "http", Scheme: "bearer", BearerFormat: "JWT"},
				}
				return
			}
		}
	}
}
