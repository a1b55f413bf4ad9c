package bus

// ServiceName returns a hostname as the name of a NATS service.
func ServiceName(host string) string { return serviceName(host) }

// EndpointName returns the name of an endpoint as NATS allows one.
func EndpointName(name string) string { return endpointName(name) }

// SemanticVersion returns a version as SemVer.
func SemanticVersion(version string) string { return semanticVersion(version) }
