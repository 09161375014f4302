import { createRequire } from 'node:module'
import type { buildConnector as Build } from 'undici'

/** Of undici only what opens connections: its fetch, its caches and its parser are 4 MB that nothing here calls. */
export const buildConnector = createRequire(import.meta.url)('undici/lib/core/connect.js') as typeof Build
