/**
 * Machines that have nothing to do. `idle.ts pair ORIGIN KEY COUNT` prints their credentials; `idle.ts link ORIGIN FILE COUNT` links
 * as many of those in a file, and says `ready`.
 */
import { readFileSync } from 'node:fs'
import { keepAlive } from '../../packages/mux/src/heartbeat.ts'
import { linkUp } from '../../test/link/daemon.ts'

const [what, origin, given, count] = process.argv.slice(2) as [string, string, string, string]
if (what === 'pair') await pair()
else await link()

async function pair(): Promise<void> {
  const machine = { os: 'linux', arch: 'x64', hostname: 'idle', daemon_version: '0', protocol: 1 }
  const credentials: string[] = []
  for (let i = 0; i < Number(count); i++) {
    const { token } = await post('/computer-pairings', {})
    credentials.push((await post('/computers/pair', { token, ...machine })).credential)
  }
  process.stdout.write(JSON.stringify(credentials))
}

async function link(): Promise<void> {
  const credentials = JSON.parse(readFileSync(given, 'utf8')) as string[]
  for (const credential of credentials.slice(0, Number(count))) keepAlive((await linkUp(origin, credential)).mux)
  process.stdout.write('ready 0\n')
}

async function post(path: string, body: object): Promise<any> {
  const response = await fetch(`${origin}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${given}` },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { data: unknown }).data
}
