package bus

import (
	"net/http"

	"github.com/busline/busline/bus/wire"
)

// ended is what became of one attempt at a call: interceptors of the caller may make several.
type ended struct {
	response *wire.Response
	err      error
}

// failed completes the error with which the interceptors have returned: what has not got past them has not run. They may
// have handed on a copy of the exchange. Of an exchange that a test has made nothing is known.
func (x *Exchange) failed(err error) *Error {
	if x.in != nil && x.in.entered || x.out != nil && x.out.left || x.in == nil && x.out == nil {
		return asError(err)
	}
	return unsent(err)
}

// answeredByInterceptor says whether a call of our own has ended with a response that came from nowhere else.
func (x *Exchange) answeredByInterceptor() bool { return !x.out.left && x.Response != nil }

// mayHaveRun says whether the latest attempt has reached a handler, for all that is known.
func (x *Exchange) mayHaveRun() bool {
	switch response := x.out.latest.response; {
	case x.out.latest.err != nil:
		return asError(x.out.latest.err).Executed != ExecutedNo
	case response != nil && response.Status >= http.StatusBadRequest:
		return responseError(response).Executed != ExecutedNo
	default:
		return true
	}
}

// doubt takes back what the latest attempt proves, that nothing has run: an earlier one may have. It returns its error.
func (x *Exchange) doubt() error {
	if x.mayHaveRun() {
		return x.out.latest.err
	}
	if x.out.latest.err != nil {
		failed := *asError(x.out.latest.err)
		failed.Executed = ExecutedUnknown
		return &failed
	}
	refused := responseError(x.Response)
	refused.Executed = ExecutedUnknown
	doubted := *x.Response
	doubted.Body = refused.body()
	x.Response = &doubted
	return nil
}
