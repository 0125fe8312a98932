// Writes TypeScript types of the services' interfaces to src/lib/api/types, from `stoa openapi SERVICE`.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';

const SERVICES = ['gateway', 'knowledge', 'supervisor', 'portal', 'leads'];
const target = process.env.CARGO_TARGET_DIR ?? join('..', 'target');
const program =
  process.env.STOA_BIN ?? [join(target, 'debug/stoa'), join(target, 'release/stoa')].find(existsSync);
if (!program) {
  console.error('the types are made from the program: run `cargo build --workspace --bin stoa` first');
  process.exit(1);
}

mkdirSync('src/lib/api/types', { recursive: true });
for (const service of SERVICES) {
  const document = JSON.parse(execFileSync(program, ['openapi', service], { maxBuffer: 1 << 26 }).toString());
  // With `rootTypes`, every schema can be imported by its name.
  const types = await openapiTS(document, { rootTypes: true, rootTypesNoSchemaPrefix: true });
  writeFileSync(`src/lib/api/types/${service}.d.ts`, astToString(types));
}
