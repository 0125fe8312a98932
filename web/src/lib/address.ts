/** The address of the gateway, from which all services are reached. The page itself is below it, at `kv/`. */
export const gateway = new URL('..', document.baseURI);

export type Service = 'gateway' | 'core' | 'build' | 'kv';

/** Returns the address of a path of a service, such as `address('core', '/api/documents')`. */
export function address(service: Service, path: string): string {
  const prefix = service === 'gateway' ? '' : `${service}/`;
  return new URL(prefix + path.replace(/^\//, ''), gateway).href;
}
