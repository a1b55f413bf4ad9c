package cli

// describedOperation is an operation in the output of describe --json.
type describedOperation struct {
	Method      string              `json:"method"`
	Address     string              `json:"address"`
	Path        string              `json:"path"`
	Signature   string              `json:"signature,omitempty"`
	Description string              `json:"description,omitempty"`
	Token       bool                `json:"token"` // it needs one
	Arguments   []describedArgument `json:"arguments"`
	Results     []describedResult   `json:"results"`
}

// describedArgument is one of its arguments.
type describedArgument struct {
	Name string `json:"name"`
	In   string `json:"in"`
	Type string `json:"type"`

	Required    bool     `json:"required"`          // it must not be omitted
	Demands     []string `json:"demands,omitempty"` // in addition to the type: "1 to 200 characters"
	Description string   `json:"description,omitempty"`
}

// describedResult is one of its results.
type describedResult struct {
	Name        string   `json:"name,omitempty"` // none: it is the whole body
	Type        string   `json:"type"`
	Demands     []string `json:"demands,omitempty"` // that the service fulfils: "one of good, bad"
	Description string   `json:"description,omitempty"`
}

// describeResults returns the results of an operation.
func (o *operation) describeResults() []describedResult {
	d, shown := schemas{o.document}, []describedResult{}
	for _, each := range o.results() {
		shown = append(shown, describedResult{
			Name: each.name, Type: d.text(each.schema), Demands: d.asked(each), Description: d.description(each.schema),
		})
	}
	return shown
}

// describeJSON prints operations as JSON.
func (s *session) describeJSON(all []operation) error {
	shown := []describedOperation{}
	for _, each := range all {
		one := describedOperation{
			Method: each.method, Address: "https://" + each.place + each.path, Path: each.path,
			Signature: each.Summary, Description: each.Description, Token: each.needsToken(), Arguments: []describedArgument{},
			Results: each.describeResults(),
		}
		for _, argument := range each.parameters() {
			d := schemas{each.document}
			one.Arguments = append(one.Arguments, describedArgument{
				Name: argument.name, In: argument.in, Type: d.text(argument.schema), Required: argument.asked || argument.in == inPath,
				Demands: d.demands(argument.schema), Description: d.description(argument.schema),
			})
		}
		shown = append(shown, one)
	}
	return s.print("%s\n", jsonOf(shown))
}
