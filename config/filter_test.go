package config

import "testing"

func TestExample(t *testing.T) {
	for include, want := range map[string]string{
		".*":                "",
		"orders":            "orders",
		"app-.*":            "app-lso-exporter.unused",
		`app\.orders-[0-9]`: "app.orders-lso-exporter.unused",
		"app-(a|b)":         "app-lso-exporter.unused",
		"a|b":               "",
		"(?i)app-.*":        "",
	} {
		re, err := wholeName(include)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Filter{Include: re}).Example(); got != want {
			t.Errorf("%s: %q, want %q", include, got, want)
		}
	}
}
