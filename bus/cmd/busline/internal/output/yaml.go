package output

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// documentOf returns a JSON value as a document of YAML, with the order of its members and the digits of its numbers.
func documentOf(value []byte) ([]byte, error) {
	tokens := json.NewDecoder(bytes.NewReader(value))
	tokens.UseNumber()
	node, err := readNode(tokens)
	if err != nil {
		return nil, err
	}
	var document bytes.Buffer
	encoder := yaml.NewEncoder(&document)
	const indent = 2
	encoder.SetIndent(indent)
	if err := encoder.Encode(node); err != nil {
		return nil, err
	}
	return document.Bytes(), encoder.Close()
}

// readNode reads the next value.
func readNode(tokens *json.Decoder) (*yaml.Node, error) {
	token, err := tokens.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		if token == '{' {
			node.Kind = yaml.MappingNode
		}
		return node, readMembers(tokens, node)
	case string:
		return textNode(token)
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
	default: // a number or a boolean
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(token)}, nil
	}
}

// readMembers reads what is in an object or an array, names included, and its end.
func readMembers(tokens *json.Decoder, node *yaml.Node) error {
	for tokens.More() {
		member, err := readNode(tokens)
		if err != nil {
			return err
		}
		node.Content = append(node.Content, member)
	}
	_, err := tokens.Token()
	return err
}

// textNode returns a text, in quotes if it would be read as something else.
func textNode(text string) (*yaml.Node, error) {
	if text == "<<" { // which Encode makes an instruction
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text, Style: yaml.DoubleQuotedStyle}, nil
	}
	node := new(yaml.Node)
	err := node.Encode(text)
	return node, err
}
