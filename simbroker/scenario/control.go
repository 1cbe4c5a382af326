package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Control are the faults of a cluster that "lso-exporter sim" runs, through the
// control surface at URL: http://HOST:PORT.
type Control struct{ URL string }

var (
	_ Faults   = Control{}
	_ Injector = Control{}
)

// Pause implements Faults.
func (c Control) Pause(ctx context.Context, broker int32) error { return c.act(ctx, broker, "pause") }

// Resume implements Faults.
func (c Control) Resume(ctx context.Context, broker int32) error {
	return c.act(ctx, broker, "resume")
}

// Kill implements Faults.
func (c Control) Kill(ctx context.Context, broker int32) error { return c.act(ctx, broker, "kill") }

// Stop implements Faults.
func (c Control) Stop(ctx context.Context, broker int32) error { return c.act(ctx, broker, "stop") }

// Start implements Faults.
func (c Control) Start(ctx context.Context, broker int32) error { return c.act(ctx, broker, "start") }

// Inject implements Injector.
func (c Control) Inject(ctx context.Context, document []byte) (withdraw func(context.Context) error, err error) {
	answer, err := c.do(ctx, http.MethodPost, "/faults", document)
	if err != nil {
		return nil, err
	}
	var fault struct{ ID int }
	if err := json.Unmarshal(answer, &fault); err != nil {
		return nil, fmt.Errorf("POST /faults: %w", err)
	}
	return func(ctx context.Context) error {
		_, err := c.do(ctx, http.MethodDelete, fmt.Sprintf("/faults/%d", fault.ID), nil)
		return err
	}, nil
}

func (c Control) act(ctx context.Context, broker int32, act string) error {
	_, err := c.do(ctx, http.MethodPost, fmt.Sprintf("/brokers/%d/%s", broker, act), nil)
	return err
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 1 << 20

func (c Control) do(ctx context.Context, method, path string, document []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, strings.TrimSpace(string(body)))
	}
	return body, err
}
