/**
 * Bytes through the drive: a download against nginx with the same file, an upload against writing the file with its
 * SHA-256 in Node, and five gigabytes there and back with the server's memory watched.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { startOurs } from '../measure/ours.ts'
import { type Measurable, median, root, startMeasurable } from '../measure/process.ts'
import type { Report } from '../report.ts'
import { type Transferred, fileParts, formWith, madeUp, transfer } from './transfer.ts'

const MEGABYTE = 1 << 20
const FILE_BYTES = Number(process.env.BENCH_DRIVE_MB ?? 1024) * MEGABYTE
const HUGE_BYTES = Number(process.env.BENCH_DRIVE_HUGE_MB ?? 5120) * MEGABYTE
const ROUNDS = 5

export async function drive(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'ukiyo-bench-drive-'))
  const rows: Record<string, unknown>[] = []
  try {
    const path = join(folder, 'file.bin')
    await fill(path, FILE_BYTES)
    await using nginx = await startNginx(folder)
    await using ours = await startOurs()
    const { key, server } = ours
    const workspaceId = await personalWorkspace(ours.origin, key)
    const upload = (name: string, length: number, content: AsyncIterable<Uint8Array>) => {
      const { head, body } = formWith(server.port, key, workspaceId, name, length, content)
      return transfer(server.port, head, body)
    }
    for (let round = 0; round <= ROUNDS; round++) {
      const bare = JSON.parse(
        execFileSync(process.execPath, [join(root, 'bench/drive/bare.ts'), path, join(folder, 'copy.bin')]).toString(),
      ) as { seconds: number; sha256: string }
      rm(join(folder, 'copy.bin'))
      const sent = checked(await upload(`${round}.bin`, FILE_BYTES, fileParts(path)), 201)
      const { id, sha256 } = (JSON.parse(sent.text) as { data: { id: string; sha256: string } }).data
      if (sha256 !== bare.sha256) throw new Error('other bytes arrived')
      const get = (at: string, port: number) =>
        transfer(port, `GET ${at} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n\r\n`)
      const theirs = checked(await get('/file.bin', nginx.port), 200)
      const down = checked(await get(`/v1/drive/files/${id}`, server.port), 200)
      await remove(ours.origin, key, id)
      // The first round warms caches and code.
      if (round === 0) continue
      rows.push(
        { what: 'upload', name: 'bare', round, seconds: bare.seconds, bytes: FILE_BYTES },
        { what: 'upload', name: 'ours', round, seconds: sent.seconds, bytes: FILE_BYTES },
        { what: 'download', name: 'nginx', round, seconds: theirs.seconds, bytes: FILE_BYTES },
        { what: 'download', name: 'ours', round, seconds: down.seconds, bytes: FILE_BYTES },
      )
    }
    rm(path)
    rows.push(...(await huge(server, ours.origin, key, upload)))
    return { name: 'drive', rows, table: table(rows) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** There and back, while the server's memory is looked at twenty times a second. */
async function huge(
  server: Measurable,
  origin: string,
  key: string,
  upload: (name: string, length: number, content: AsyncIterable<Uint8Array>) => Promise<Transferred>,
): Promise<Record<string, unknown>[]> {
  const before = server.rssMegabytes()
  let most = before
  const timer = setInterval(() => (most = Math.max(most, server.rssMegabytes())), 50)
  const sent = checked(await upload('huge.bin', HUGE_BYTES, madeUp(randomBytes(MEGABYTE), HUGE_BYTES)), 201)
  const up = most
  most = server.rssMegabytes()
  const { id } = (JSON.parse(sent.text) as { data: { id: string } }).data
  const got = checked(
    await transfer(
      server.port,
      `GET /v1/drive/files/${id} HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\nauthorization: Bearer ${key}\r\n\r\n`,
    ),
    200,
  )
  clearInterval(timer)
  await remove(origin, key, id)
  if (got.bytes !== HUGE_BYTES) throw new Error(`${got.bytes} bytes came back`)
  const row = { bytes: HUGE_BYTES, before }
  return [
    { what: 'memory', name: 'upload', seconds: sent.seconds, megabytes: up, ...row },
    { what: 'memory', name: 'download', seconds: got.seconds, megabytes: most, ...row },
  ]
}

function checked(got: Transferred, status: number): Transferred {
  if (got.status !== status) throw new Error(`answered ${got.status}: ${got.text.slice(0, 500)}`)
  return got
}

async function personalWorkspace(origin: string, key: string): Promise<string> {
  const answer = await fetch(`${origin}/v1/me`, { headers: { authorization: `Bearer ${key}` } })
  return ((await answer.json()) as { data: { personal_workspace_id: string } }).data.personal_workspace_id
}

async function remove(origin: string, key: string, id: string): Promise<void> {
  for (const path of ['', '/permanent-delete'])
    await fetch(`${origin}/v1/drive/files/${id}${path}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${key}` },
    })
}

async function fill(path: string, length: number): Promise<void> {
  const file = createWriteStream(path)
  for (let left = length; left > 0; left -= MEGABYTE)
    if (!file.write(randomBytes(Math.min(left, MEGABYTE))))
      await new Promise<void>((resolve) => file.once('drain', () => resolve()))
  file.end()
  await finished(file)
}

const rm = (path: string): void => rmSync(path, { force: true })

/** One worker with `sendfile`, as a fresh installation has it. */
async function startNginx(folder: string): Promise<Measurable> {
  const port = await freePort()
  mkdirSync(join(folder, 'nginx'))
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${folder}/nginx/pid; error_log stderr notice; user root;
     events { worker_connections 64; }
     http { access_log off; sendfile on; tcp_nopush on;
       ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/nginx;`).join(' ')}
       server { listen 127.0.0.1:${port}; root ${folder}; } }\n`,
  )
  return startMeasurable(['nginx', '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {
    ready: /start worker process/,
    port,
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

export function table(raw: Record<string, unknown>[]): string {
  type Row = { what: string; name: string; seconds: number; bytes: number; megabytes: number; before: number }
  const rows = raw as unknown as Row[]
  const of = (what: string, name: string): Row[] => rows.filter((row) => row.what === what && row.name === name)
  const speed = ({ bytes, seconds }: Row): number => bytes / MEGABYTE / seconds
  const ratio = (what: string, rival: string): string =>
    median(of(what, 'ours').map((row, i) => speed(row) / speed(of(what, rival)[i]!))).toFixed(2)
  const memory = rows.filter(({ what }) => what === 'memory')
  return [
    '| one file | server | MB/s |',
    '|---|---|--:|',
    ...(
      [
        ['download', 'nginx'],
        ['download', 'ours'],
        ['upload', 'bare'],
        ['upload', 'ours'],
      ] as const
    ).map(([what, name]) => `| ${what} | ${name} | ${median(of(what, name).map(speed)).toFixed(0)} |`),
    '',
    '| | is | goal |',
    '|---|--:|--:|',
    `| download to nginx, same file from disk, median of the rounds | ${ratio('download', 'nginx')} | ≥ 0.8 |`,
    `| upload to writing the file with its SHA-256 in Node | ${ratio('upload', 'bare')} | ≥ 0.6 |`,
    ...memory.map(
      ({ name, bytes, megabytes, before }) =>
        `| most memory of the server while ${(bytes / 1e9).toFixed(1)} GB go through it, ${name} (${before.toFixed(0)} MB before) | ${megabytes.toFixed(0)} MB | < 250 MB |`,
    ),
  ].join('\n')
}
