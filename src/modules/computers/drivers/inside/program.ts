import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bundle, isFolder, hashSources } from '../../install/bundle.ts'

export const PROGRAM = {
  node: 'node',
  daemon: 'daemon.cjs',
  bundle: 'bundle.js',
  compiled: 'bundle.compiled',
  addon: 'pty.node',
} as const

const SOURCES = join(import.meta.dirname, '../../../..')
const MAIN = join(SOURCES, 'daemon/sandboxed.ts')
/** The bundle's sources, besides dependencies. */
const ROOMS = [
  'daemon',
  'daemon-protocol',
  'core',
  'modules/computers/drivers/inside',
  '../packages',
  '../package.json',
]

/**
 * Uses a V8 code cache made by the same V8. Node's own compile cache is keyed by account and path, which differ per
 * computer. CommonJS, because importing `node:http` as ESM loads a whole HTTP client.
 */
const STARTER = `'use strict'
const { readFileSync, writeFileSync } = require('node:fs')
const { Script, constants } = require('node:vm')
const filename = __dirname + '/${PROGRAM.bundle}'
let cachedData
try {
  cachedData = readFileSync(__dirname + '/${PROGRAM.compiled}')
} catch {}
const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
const script = new Script(readFileSync(filename, 'utf8'), { filename, cachedData, importModuleDynamically })
script.runInThisContext()(exports, require, module, filename, __dirname)
if (process.argv[2] === 'compile') writeFileSync(process.argv[3], script.createCachedData())
`

/** Returns a folder named by the program's hash. */
export async function placeProgram(place: string): Promise<string> {
  const addon = createRequire(import.meta.url).resolve(`@lydell/node-pty-${process.platform}-${process.arch}/pty.node`)
  const target = join(place, await hashSources([...ROOMS.map((room) => join(SOURCES, room)), addon]))
  if (await isFolder(target)) return target
  await mkdir(place, { recursive: true, mode: 0o755 })
  await chmod(place, 0o755)
  const making = await mkdtemp(join(place, 'making-'))
  const at = (name: keyof typeof PROGRAM): string => join(making, PROGRAM[name])
  try {
    await bundle(MAIN, at('bundle'), 'cjs')
    const code = await readFile(at('bundle'), 'utf8')
    await writeFile(at('bundle'), `(function (exports, require, module, __filename, __dirname) {${code}\n})`)
    await writeFile(at('daemon'), STARTER)
    await copyFile(addon, at('addon'))
    await copyFile(process.execPath, at('node'))
    await promisify(execFile)(process.execPath, [at('daemon'), 'compile', at('compiled')], { env: {} })
    for (const name of Object.values(PROGRAM)) await chmod(join(making, name), 0o555)
    await chmod(making, 0o755)
    await rename(making, target).catch(async (error: unknown) => {
      // Another server process finished first.
      if (!(await isFolder(target))) throw error
    })
    return target
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}
