/** A Podman for one test: its containers, images and socket are in a temporary folder. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../until.ts'

export interface Podman extends AsyncDisposable {
  socket: string
  /** Creates an image with these host programs and their libraries. */
  image(name: string, programs: readonly string[]): Promise<void>
}

const answersTo = (command: string, ...argv: string[]): boolean => {
  try {
    execFileSync(command, argv, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export const podmanHere = (): boolean =>
  process.getuid?.() === 0 && answersTo('podman', '--version') && answersTo('runc', '--version')

export async function startPodman(): Promise<Podman> {
  const folder = mkdtempSync(join(tmpdir(), 'uk-podman-'))
  const socket = join(folder, 'podman.sock')
  const settings = join(folder, 'containers.conf')
  // On hosts with both cgroup versions, only these two work together.
  writeFileSync(settings, '[engine]\nruntime="runc"\ncgroup_manager="cgroupfs"\nevents_logger="file"\n')
  const at = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--tmpdir', join(folder, 'tmp')]
  const child = spawn(
    'podman',
    [...at, '--storage-driver', 'vfs', 'system', 'service', '--time', '0', `unix://${socket}`],
    { stdio: 'ignore', env: { ...process.env, CONTAINERS_CONF: settings } },
  )
  const exited = new Promise((resolve) => child.once('exit', resolve))
  await until(async () => existsSync(socket) && (await ask(socket, 'GET', '/_ping').catch(() => 0)), Boolean)
  return {
    socket,
    async image(name, programs) {
      const paths = programs.map((each) =>
        execFileSync('sh', ['-c', `command -v ${each}`], { encoding: 'utf8' }).trim(),
      )
      const libraries = paths.flatMap((file) => {
        const { stdout } = lddOf(file)
        return [...stdout.matchAll(/(?:=> |^\s*)(\/\S+)/gm)].map(([, path]) => path!)
      })
      const names = [...new Set([...paths.map((file) => file.replace(/^\/usr\/bin/, '/bin')), ...libraries])]
      const tar = execFileSync('tar', ['-C', '/', '-chf', '-', ...names.map((path) => path.slice(1))], {
        maxBuffer: 268_435_456,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      await ask(socket, 'POST', `/v1.41/images/create?fromSrc=-&repo=${name}`, tar)
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function lddOf(file: string): { stdout: string } {
  try {
    return { stdout: execFileSync('ldd', [file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }) }
  } catch {
    return { stdout: '' }
  }
}

/** Returns the engine's raw response. */
export const ask = (socketPath: string, method: string, path: string, body?: Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    const headers = body ? { 'content-type': 'application/x-tar', 'content-length': body.length } : {}
    const call = request({ socketPath, method, path, agent: false, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.once('end', () =>
        (response.statusCode ?? 500) < 400 ? resolve(text) : reject(new Error(`${response.statusCode}: ${text}`)),
      )
    })
    call.once('error', reject)
    call.end(body)
  })
