/** Bundles programs for machines without a clone. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, readdir, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const TIMEOUT_MS = 120_000

/** In a child process, because the bundler needs more memory than an idle server. */
export async function bundle(source: string, file: string, format: 'esm' | 'cjs' = 'esm'): Promise<void> {
  const vite = createRequire(import.meta.url).resolve('vite/package.json')
  const bundler = pathToFileURL(createRequire(vite).resolve('rolldown')).href
  const output = { file, format, minify: true, codeSplitting: false }
  const options = { input: source, cwd: dirname(source), platform: 'node', logLevel: 'silent', output }
  const code = `await (await import(${JSON.stringify(bundler)})).build(${JSON.stringify(options)})`
  await new Promise<void>((resolve, reject) => {
    const child = execFile(
      process.execPath,
      ['--input-type=module', '-e', code],
      // The server's environment holds provider keys.
      { timeout: TIMEOUT_MS, killSignal: 'SIGKILL', env: { PATH: process.env.PATH } },
      (error, _, stderr) =>
        error
          ? reject(new Error(`the daemon could not be bundled: ${stderr.trim().slice(-500) || error.message}`))
          : resolve(),
    )
    // Low priority, and doesn't delay shutdown.
    if (child.pid !== undefined) setPriority(child.pid, 10)
    child.unref()
  })
}

/** The hash includes the Node version, and no installed or built files. */
export async function hashSources(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(process.version)
  for (const path of paths) {
    const names = (await isFolder(path)) ? await readdir(path, { recursive: true }) : ['']
    for (const name of names.toSorted()) {
      const file = join(path, name)
      if (
        name === '' ||
        (name.endsWith('.ts') && !name.endsWith('.test.ts') && !/(^|\/)(node_modules|dist)\//.test(name))
      )
        hash.update(name).update(await readFile(file))
    }
  }
  return hash.digest('hex').slice(0, 24)
}

export const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  )
