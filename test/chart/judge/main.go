// Command judge says what Kubernetes would refuse of rendered manifests.
//
// It is built of Kubernetes' own code, once for each version that is asked:
// go.mod is the current one, kubernetes-1.28.mod and kubernetes-1.29.mod are the
// others (go build -modfile). It does what the API server does with a request to
// create an object, up to the point of storing it: strict decoding, defaults,
// preparation and validation. A field that the preparation takes away, because a
// feature gate of that version is off, counts as refused. Pods are held to the
// restricted level of pod security besides.
//
// Input is a JSON object of manifests by name, many documents a text; output is
// one of the problems by name, with no entry for what Kubernetes takes. Kinds that
// are not its own are not looked at; they are listed under "foreign".
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
)

// strategies say how Kubernetes creates objects of each kind; a kind of its own
// that is missing here is a problem.
var strategies = map[string]rest.RESTCreateStrategy{
	"ConfigMap":           validating(validation.ValidateConfigMap),
	"Deployment":          deployment.Strategy,
	"NetworkPolicy":       networkpolicy.Strategy,
	"PodDisruptionBudget": poddisruptionbudget.Strategy,
	"Secret":              validating(validation.ValidateSecret),
	"Service":             validating(addressed(validation.ValidateServiceCreate)),
	"ServiceAccount":      validating(validation.ValidateServiceAccount),
}

// A validator creates objects of a kind that needs no preparation. Kubernetes has
// strategies for these too, in packages that would double what is to be compiled.
type validator struct {
	rest.RESTCreateStrategy
	validate func(runtime.Object) field.ErrorList
}

func validating[T runtime.Object](validate func(T) field.ErrorList) rest.RESTCreateStrategy {
	return validator{deployment.Strategy, func(object runtime.Object) field.ErrorList { return validate(object.(T)) }}
}

// addressed validates a Service as it is once its address has been put into the list
// of its addresses, which Kubernetes does as it stores it.
func addressed(validate func(*core.Service) field.ErrorList) func(*core.Service) field.ErrorList {
	return func(s *core.Service) field.ErrorList {
		if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
			s = s.DeepCopy()
			s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
		}
		return validate(s)
	}
}

func (validator) PrepareForCreate(context.Context, runtime.Object) {}
func (v validator) Validate(_ context.Context, object runtime.Object) field.ErrorList {
	return v.validate(object)
}
func (validator) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }
func (validator) Canonicalize(runtime.Object)                               {}

// A verdict is what the judge has to say of one set of manifests.
type verdict struct {
	Problems []string `json:"problems,omitempty"`
	Foreign  []string `json:"foreign,omitempty"` // kind/name of what is not Kubernetes' own
}

func main() {
	var manifests map[string]string
	if err := json.NewDecoder(os.Stdin).Decode(&manifests); err != nil {
		fmt.Fprintln(os.Stderr, "judge: standard input:", err)
		os.Exit(1)
	}
	verdicts := make(map[string]verdict)
	for name, text := range manifests {
		verdicts[name] = judge(text)
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		fmt.Fprintln(os.Stderr, "judge: standard output:", err)
		os.Exit(1)
	}
}

// judge looks at each document of a text.
func judge(text string) (v verdict) {
	names := make(map[string]bool)
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return v
		}
		if err != nil {
			v.Problems = append(v.Problems, err.Error())
			return v
		}
		var header metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(document, &header); err != nil {
			v.Problems = append(v.Problems, err.Error())
			continue
		}
		if header.Kind == "" {
			continue // comments alone
		}
		name := header.Kind + "/" + header.Name
		if names[name] {
			v.Problems = append(v.Problems, name+": rendered twice")
		}
		names[name] = true
		kind := schema.FromAPIVersionAndKind(header.APIVersion, header.Kind)
		if !legacyscheme.Scheme.IsGroupRegistered(kind.Group) {
			v.Foreign = append(v.Foreign, name)
			continue
		}
		for _, problem := range refused(document, kind) {
			v.Problems = append(v.Problems, name+": "+problem)
		}
	}
}

// refused is what Kubernetes has against a document, as far as it gets.
func refused(document []byte, kind schema.GroupVersionKind) []string {
	strategy := strategies[kind.Kind]
	if strategy == nil {
		return []string{"the judge does not know this kind"}
	}
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	object, _, err := codecs.UniversalDecoder(kind.GroupVersion()).Decode(document, &kind, nil)
	if err != nil {
		return []string{err.Error()}
	}
	internal, err := legacyscheme.Scheme.ConvertToVersion(object, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	if d, ok := internal.(*apps.Deployment); ok {
		problems = insecure(d.Spec.Template)
	}
	return append(problems, created(internal, kind, strategy)...)
}

// created goes through what comes before an object is stored.
func created(internal runtime.Object, kind schema.GroupVersionKind, strategy rest.RESTCreateStrategy) []string {
	before := fields(internal, kind)
	ctx := genericapirequest.WithRequestInfo(
		genericapirequest.WithNamespace(context.Background(), "monitoring"),
		&genericapirequest.RequestInfo{
			IsResourceRequest: true, Verb: "create", Namespace: "monitoring",
			APIPrefix: "apis", APIGroup: kind.Group, APIVersion: kind.Version,
			Resource: strings.ToLower(kind.Kind) + "s",
		})
	accessor, err := meta.Accessor(internal)
	if err != nil {
		return []string{err.Error()}
	}
	rest.FillObjectMetaSystemFields(accessor)
	if err := rest.BeforeCreate(strategy, ctx, internal); err != nil {
		return []string{err.Error()}
	}
	return lost(nil, "", before, fields(internal, kind))
}

// insecure is what the restricted level of pod security has against pods made of
// a template.
func insecure(template core.PodTemplateSpec) []string {
	pods := &corev1.PodTemplateSpec{}
	if err := legacyscheme.Scheme.Convert(&template, pods, nil); err != nil {
		return []string{err.Error()}
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	var problems []string
	for _, result := range evaluator.EvaluatePod(level, &pods.ObjectMeta, &pods.Spec) {
		if !result.Allowed {
			problems = append(problems, fmt.Sprintf("pod security, restricted: %s: %s", result.ForbiddenReason, result.ForbiddenDetail))
		}
	}
	return problems
}

// evaluator knows the levels of pod security. Its constructor has got a second
// parameter, a version to emulate, since 1.29; none stands for its own.
var evaluator = func() policy.Evaluator {
	construct := reflect.ValueOf(policy.NewEvaluator)
	arguments := []reflect.Value{reflect.ValueOf(policy.DefaultChecks())}
	for i := 1; i < construct.Type().NumIn(); i++ {
		arguments = append(arguments, reflect.Zero(construct.Type().In(i)))
	}
	results := construct.Call(arguments)
	if err, _ := results[1].Interface().(error); err != nil {
		panic("judge: pod security: " + err.Error()) // only for wrong checks
	}
	return results[0].Interface().(policy.Evaluator)
}()

// fields is an object as it is written.
func fields(internal runtime.Object, kind schema.GroupVersionKind) any {
	versioned, err := legacyscheme.Scheme.ConvertToVersion(internal.DeepCopyObject(), kind.GroupVersion())
	if err != nil {
		panic("judge: " + err.Error()) // it was converted from there
	}
	text, err := json.Marshal(versioned)
	if err != nil {
		panic("judge: " + err.Error())
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic("judge: " + err.Error())
	}
	return tree
}

// lost appends the paths of what was there before and is not, or is another.
func lost(problems []string, path string, before, after any) []string {
	if path == ".status" {
		return problems // nobody sets it by a request to create
	}
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		for _, key := range sortedKeys(b) {
			problems = lost(problems, path+"."+key, b[key], a[key])
		}
		return problems
	case []any:
		a, _ := after.([]any)
		for i := range b {
			var element any
			if i < len(a) {
				element = a[i]
			}
			problems = lost(problems, fmt.Sprintf("%s[%d]", path, i), b[i], element)
		}
		return problems
	}
	if before != nil && !reflect.DeepEqual(before, after) {
		problems = append(problems, fmt.Sprintf("%s: %v is taken away by this version of Kubernetes", strings.TrimPrefix(path, "."), before))
	}
	return problems
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
