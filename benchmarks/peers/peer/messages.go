package peer

// The messages of peers that use JSON.
type (
	addRequest struct {
		X int `json:"x"`
		Y int `json:"y"`
	}
	addResponse struct {
		Sum int `json:"sum"`
	}
	echoRequest struct {
		Text string `json:"text"`
	}
	echoResponse struct {
		Echo string `json:"echo"`
	}
)

func add(request addRequest) addResponse    { return addResponse{Sum: request.X + request.Y} }
func echo(request echoRequest) echoResponse { return echoResponse{Echo: request.Text} }
