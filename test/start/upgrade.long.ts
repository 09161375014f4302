/** Runs the update commands in docs/operating/update.md, with the systemd units in install.md. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { bareDatabase, databaseUrl } from '../database.ts'
import { temporaryDir } from '../program.ts'
import { until } from '../until.ts'
import { root, units } from './units.ts'

const run = promisify(execFile)
const docs = readFileSync(join(root, 'docs/operating/update.md'), 'utf8')

/** What systemd does with a unit, as far as these need it: its environment, its folder, its program. */
function unitOf(name: string, paths: (text: string) => string) {
  const text = paths(units.get(name)!)
  const values = (key: string): string[] => [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, one]) => one!)
  const env: Record<string, string> = { PATH: process.env.PATH!, HOME: '/nonexistent' }
  const files = values('EnvironmentFile').map((file) => readFileSync(file.replace(/^-/, ''), 'utf8').split('\n'))
  for (const line of [...values('Environment'), ...files.flat()].filter((one) => one.includes('=')))
    env[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1)
  return { argv: values('ExecStart')[0]!.split(' '), cwd: values('WorkingDirectory')[0], env }
}

test('the upgrade commands from the docs back up, update and start a healthy instance', async () => {
  await using database = await bareDatabase()
  using dir = temporaryDir()
  const at = (...names: string[]): string => join(dir.path, ...names)
  const paths = (text: string): string =>
    text
      .replaceAll('/opt/ukiyo', at('opt'))
      .replaceAll('/var/lib/', `${at('lib')}/`)
      .replaceAll('/etc/ukiyo.env', at('ukiyo.env'))
  const git = (...words: string[]): string =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', '-C', ...words], { encoding: 'utf8' })
  const branch = 'main'
  git(root, 'clone', '-q', '--bare', '--shared', root, at('origin'))
  git(at('origin'), 'update-ref', `refs/heads/${branch}`, git(root, 'rev-parse', 'HEAD').trim())
  git(root, 'clone', '-q', '--shared', '--branch', branch, at('origin'), at('opt'))
  git(root, 'clone', '-q', '--shared', '--branch', branch, at('origin'), at('work'))
  // Dependencies are there, and not older than what is asked for.
  symlinkSync(join(root, 'node_modules'), at('opt/node_modules'))
  utimesSync(at('opt/package-lock.json'), new Date(0), new Date(0))
  const about = JSON.parse(readFileSync(at('work/package.json'), 'utf8'))
  writeFileSync(at('work/package.json'), JSON.stringify({ ...about, version: '99.0.0' }))
  git(at('work'), 'commit', '-q', '-a', '-m', 'A new version')
  git(at('work'), 'push', '-q')
  mkdirSync(at('lib/ukiyo'), { recursive: true })
  writeFileSync(
    at('ukiyo.env'),
    [`DATABASE_URL='${databaseUrl(database)}'`, 'UK_PORT=0', 'UK_COMPUTER_DRIVERS=off', 'OLLAMA_HOST=off', ''].join(
      '\n',
    ),
  )
  // systemd takes the quotes off, as a shell does.
  const started = (name: string) => {
    const { argv, cwd, env } = unitOf(name, paths)
    env.DATABASE_URL = env.DATABASE_URL!.replaceAll("'", '')
    return spawn(argv[0]!, argv.slice(1), { cwd: cwd ?? '/', env, stdio: ['ignore', 'pipe', 'pipe'] })
  }
  let server: ChildProcess | null = null
  const stop = async (): Promise<void> => {
    if (server === null || server.exitCode !== null) return
    const ended = once(server, 'exit')
    server.kill('SIGTERM')
    assert.deepEqual((await ended)[0], 0)
    server = null
  }
  const start = async (): Promise<string> => {
    server = started('ukiyo.service')
    let said = ''
    for (const stream of [server.stdout!, server.stderr!]) stream.on('data', (part: Buffer) => (said += part))
    await until(
      async () => said,
      (text) => /^ready /m.test(text) || server?.exitCode !== null,
    )
    assert.equal(server?.exitCode, null, said)
    return /^ready (\S+)$/m.exec(said)![1]!
  }
  try {
    await start()
    const [, block] = /<!-- upgrade -->\s+```sh\n([^]*?)```/.exec(docs)!
    let cwd = dir.path
    let origin = ''
    let said = ''
    for (const line of paths(block!).trim().split('\n')) {
      const [command = ''] = line.split(/ {2,}#/)
      const unit = /^sudo systemctl (start|restart) (\S+)$/.exec(command)
      if (unit?.[2] === 'ukiyo.service') {
        await stop()
        origin = await start()
      } else if (unit) {
        const [code] = await once(started(unit[2]!), 'exit')
        assert.equal(code, 0, command)
      } else if (command.startsWith('cd ')) cwd = command.slice(3)
      else {
        const plain = command.replace(/^sudo /, '').replace(/runuser -u ukiyo -- /, '')
        const { stdout } = await run('sh', ['-c', plain], { cwd, env: { PATH: process.env.PATH, HOME: dir.path } })
        said += stdout
      }
    }
    assert.equal((await fetch(`${origin}/readyz`)).status, 200)
    const described = (await (await fetch(`${origin}/v1/openapi.json`)).json()) as any
    assert.equal(described.openapi.slice(0, 3), '3.1')
    assert.equal(JSON.parse(readFileSync(at('opt/package.json'), 'utf8')).version, '99.0.0')
    assert.match(said, /0 failed/)
    assert.equal(readdirSync(at('lib/ukiyo-backups')).length, 3, 'a backup, the bytes of its files, and whose they are')
  } finally {
    await stop()
  }
})
