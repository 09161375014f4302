/** Writes `openapi.json` at the root of the project: `npm run openapi`. */
import { writeFile } from 'node:fs/promises'
import { loadContracts } from '#areas/contracts.ts'
import { newestVersion } from '#kernel/version.ts'
import { openapi } from './openapi.ts'

const document = openapi(await loadContracts(), { origin: 'http://127.0.0.1:4242', version: newestVersion })
await writeFile(new URL('../../../openapi.json', import.meta.url), `${JSON.stringify(document, null, 1)}\n`)
