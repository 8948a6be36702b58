package mockdapr_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/mockdapr"
)

const theStart = "/W/start?instanceID=a"

func TestFaultsComeInOrderAndThenEnd(t *testing.T) {
	s := start(t, mockdapr.Options{}, "get 503", "get ok", "get 503", "start 500", "get 429 retry-after 7s", "start 429")
	for _, status := range []int{503, 404, 503, 429, 404, 404} {
		expect(t, s, "GET", "/a", "", status, `"errorCode":`)
	}
	for _, status := range []int{500, 429, 202} {
		expect(t, s, "POST", theStart, "1", status, ``)
	}
	assert.Equal(t, map[string]int{"a": 1}, s.Starts())
	assert.Equal(t, "get 503", s.Requests()[0].Fault)
	assert.Len(t, s.Requests(), 9)
}

func TestFaultsThatLoseTheStartLeaveNothing(t *testing.T) {
	for _, fault := range []string{"drop-request", "not-http", "garbage", "redirect", "503"} {
		t.Run(fault, func(t *testing.T) {
			s := start(t, mockdapr.Options{}, "start "+fault)
			status, answer, err := call(t, s, "POST", theStart, "1")
			assert.True(t, err != nil || status != 202, "%d %s", status, answer)
			assert.Empty(t, s.Starts())
			assert.Len(t, s.Requests(), 1, "but the request has arrived")
		})
	}
}

func TestFaultsThatLoseTheAnswerLeaveAnInstance(t *testing.T) {
	for _, fault := range []string{"drop-response", "half"} {
		t.Run(fault, func(t *testing.T) {
			s := start(t, mockdapr.Options{}, "start "+fault)
			_, _, err := call(t, s, "POST", theStart, "1")
			assert.Error(t, err)
			expect(t, s, "GET", "/a", "", 200, "RUNNING")
			assert.Equal(t, map[string]int{"a": 1}, s.Starts())
		})
	}
}

func TestADelayedStartTakesEffectAtOnce(t *testing.T) {
	s := start(t, mockdapr.Options{}, "start delay 1h")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, _, err := callWith(ctx, s, "POST", "/v1.0/workflows/dapr"+theStart, "1", "")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	expect(t, s, "GET", "/a", "", 200, "RUNNING")
}

func TestAHeldStartDoesNotIfTheClientHangsUp(t *testing.T) {
	s := start(t, mockdapr.Options{}, "start hold 400ms", "start hold 1ms")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := callWith(ctx, s, "POST", "/v1.0/workflows/dapr"+theStart, "1", "")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	time.Sleep(600 * time.Millisecond)
	assert.Empty(t, s.Starts())
	expect(t, s, "POST", theStart, "1", 202, "a")
}

func TestAStartThatFailedHalfWayStaysPending(t *testing.T) {
	s := start(t, mockdapr.Options{}, "start pending")
	expect(t, s, "POST", theStart, "1", 500, "an active workflow with ID 'a' already exists")
	expect(t, s, "GET", "/a", "", 200, `"runtimeStatus":"PENDING"`)
	assert.Empty(t, s.Starts())
}

func TestAClosedPortOpensAgain(t *testing.T) {
	refused := func(s *mockdapr.Sidecar, method, path string) bool {
		_, _, err := call(t, s, method, path, "1")
		return assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	}
	opens := func(s *mockdapr.Sidecar) {
		assert.Eventually(t, func() bool { _, _, err := call(t, s, "GET", "/a", ""); return err == nil }, 10*time.Second, 10*time.Millisecond)
	}
	t.Run("closed from the beginning", func(t *testing.T) {
		s := start(t, mockdapr.Options{}, "get refuse 300ms")
		refused(s, "GET", "/a")
		opens(s)
	})
	t.Run("closed when its turn comes", func(t *testing.T) {
		s := start(t, mockdapr.Options{}, "get 503", "get refuse 300ms")
		expect(t, s, "GET", "/a", "", 503, "")
		refused(s, "GET", "/a")
		opens(s)
	})
	t.Run("closed for the start", func(t *testing.T) {
		s := start(t, mockdapr.Options{}, "get 503", "start refuse 300ms")
		expect(t, s, "GET", "/a", "", 503, "")
		expect(t, s, "GET", "/a", "", 404, "")
		refused(s, "POST", theStart)
		opens(s)
		assert.Empty(t, s.Starts())
	})
}

func TestAnUnknownFaultIsAnErrorThatListsThemAll(t *testing.T) {
	for _, text := range []string{"", "get", "get foo", "put 503", "get 503 x0", "get 503 3x", "get refuse", "get refuse soon",
		"get delay -1s", "get garbage 3s", "start 500 x", "get 99", "get 1000", "get hold 3s", "get pending", "get 503 retry-after",
		"get 503 retry-after 100ms", "get 503 retry-after 1500ms", "get 503 retry-after 0s"} {
		_, err := mockdapr.ParseFault(text)
		assert.ErrorContains(t, err, "drop-response", text)
	}
	for _, text := range []string{"get 503 x3", "get 503 retry-after 2m x3", "get refuse 5s", "start drop-response", "start drop-request", "start 500", "get garbage", "start delay 3s"} {
		fault, err := mockdapr.ParseFault(text)
		assert.NoError(t, err)
		assert.NotEmpty(t, fault.String())
	}
}
