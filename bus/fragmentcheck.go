package bus

import "github.com/busline/busline/bus/wire"

// arrivedRequest returns a request as the broker would have brought it: in parts, when it takes no message so large.
func arrivedRequest(sent *wire.Request, payload int) (*wire.Request, error) {
	read := new(wire.Request)
	if text := wire.AppendRequest(nil, sent); len(text) <= payload {
		return read, wire.ParseRequest(text, read)
	}
	cut, err := divideRequest(sent, payload)
	if err != nil {
		return nil, err
	}
	var parts *assembly
	for number := 1; number <= cut.count; number++ {
		part := new(wire.Request)
		if err := wire.ParseRequest(wire.AppendRequest(nil, cut.request(number, sent, "i1aaaaaaaa."+sent.Host)), part); err != nil {
			return nil, err
		}
		if number == 1 {
			read = part
		}
		if parts, err = parts.next(part.Fragment, part.Body); err != nil {
			return nil, err
		}
	}
	read.Body, read.Fragment = parts.body(), wire.Fragment{}
	return read, nil
}

// arrivedResponse does so with a response.
func arrivedResponse(sent *wire.Response, payload int) (*wire.Response, error) {
	read := new(wire.Response)
	if text := wire.AppendResponse(nil, sent); len(text) <= payload {
		return read, wire.ParseResponse(text, read)
	}
	cut, err := divideResponse(sent, payload)
	if err != nil {
		return nil, err
	}
	var parts *assembly
	for number := 1; number <= cut.count; number++ {
		part := new(wire.Response)
		if err := wire.ParseResponse(wire.AppendResponse(nil, cut.response(number, sent)), part); err != nil {
			return nil, err
		}
		if number == 1 {
			read = part
		}
		if parts, err = parts.next(part.Fragment, part.Body); err != nil {
			return nil, err
		}
	}
	read.Body, read.Fragment = parts.body(), wire.Fragment{}
	return read, nil
}

// next begins with the first part, or adds another one.
func (a *assembly) next(part wire.Fragment, body []byte) (*assembly, error) {
	if a == nil {
		return newAssembly(part, body, maxMessageLimit)
	}
	return a, a.add(part, body)
}
