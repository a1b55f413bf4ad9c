package openapi

// bearerScheme is the only security scheme of the bus: a JWT.
const bearerScheme = "bearer"

// SecurityScheme says how callers authenticate.
type SecurityScheme struct {
	Type         string `json:"type"` // "http"
	Scheme       string `json:"scheme,omitempty"`
	BearerFormat string `json:"bearerFormat,omitempty"`
}

// bearer is the security requirement of operations that need a token.
func bearer() []map[string][]string { return []map[string][]string{{bearerScheme: {}}} }

// secure replaces the security of a document by the bus's own: an operation needs a token or nothing, whatever its
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

// nameScheme adds the security scheme to a document if one of its operations needs a token. It does not change
// operations.
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
