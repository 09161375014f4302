/**
 * Builds `packages/client/dist`: compiled sources, and routes and types from the contracts. Run by `npm pack` there.
 */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadContracts } from '#modules/contracts.ts'
import { newestVersion } from '#core/contract.ts'
import { openapi } from '../openapi/openapi.ts'
import { declarations, routesOf } from './methods.ts'

const root = join(import.meta.dirname, '../../..')
const dist = join(root, 'packages/client/dist')

rmSync(dist, { recursive: true, force: true })
const compiler = join(root, 'node_modules/typescript/bin/tsc')
execFileSync(process.execPath, [compiler, '-p', join(root, 'packages/client')], { stdio: 'inherit' })

const areas = await loadContracts()
const document = openapi(areas, { origin: 'http://127.0.0.1:4242', version: newestVersion })
const routes = JSON.stringify(routesOf(areas, document)).replaceAll('}},', '}},\n')
const program = `import { clientOf } from './client.js'
export * from './errors.js'

const routes = ${routes}

export const createClient = (options) => clientOf(routes, options)
`
writeFileSync(join(dist, 'index.js'), program)
writeFileSync(join(dist, 'index.d.ts'), declarations(areas, document))
