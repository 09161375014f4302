/**
 * The operations a server may request from a daemon, each with the capability it needs. The daemon rejects all
 * others and checks the capability against the owner's settings (`--allow`).
 *
 * An operation is one stream on the link (`stream.ts`): OPEN carries `input`, END carries `output` or an error. In
 * between, bytes on numbered channels and small JSON events are exchanged.
 *
 * Each changing operation has a `key` chosen by the caller. Repeated with the same key after a lost link, it
 * resumes at the offsets in the new OPEN, and nothing is done twice.
 */
import { z } from 'zod'
import type { Capability } from '#core/scopes.ts'
import { cols, ended, env, key, offset, path, rows, signal, time } from './shapes/fields.ts'
import { LocalModels, engineName } from './shapes/local-model.ts'
import { Terminal } from './shapes/terminal.ts'

export { CAPABILITIES, type Capability } from '#core/scopes.ts'

export { CHANNEL, type Channel } from './channels.ts'
export { MAX_MODELS } from './shapes/local-model.ts'
export { Terminal, TerminalEvent, ViewerEvent } from './shapes/terminal.ts'

export const Entry = z.object({
  name: z.string(),
  path,
  name_base64: z.string().nullable().describe('The raw bytes of the name, if it isn’t valid UTF-8.'),
  type: z.enum(['file', 'folder', 'symlink', 'other']),
  size_bytes: z.number().int(),
  mode: z.number().int(),
  owner: z.string().nullable(),
  modified_at: time,
  target: z.string().nullable(),
})

export const ListeningPort = z.object({
  port: z.number().int().min(1).max(65_535),
  protocol: z.enum(['tcp', 'tcp6']),
  process: z.string().nullable(),
  pid: z.number().int().nullable(),
})

export const MachineUser = z.object({
  username: z.string(),
  uid: z.number().int(),
  home: z.string(),
  shell: z.string(),
  groups: z.array(z.string()),
})

/** `total` is 0 if unknown. */
export const InstallProgress = z.object({
  type: z.literal('progress'),
  phase: z.enum(['resolving', 'downloading', 'verifying', 'loading']),
  completed: z.number().int().min(0),
  total: z.number().int().min(0),
})
export const CallHead = z.object({
  type: z.literal('head'),
  status: z.number().int().min(200).max(599),
  content_type: z.string().max(200),
})

interface Operation {
  /** Null: always allowed. */
  needs: Capability | null
  input: z.ZodType
  output: z.ZodType
}
const operation = <I extends z.ZodType, O extends z.ZodType>(needs: Capability | null, input: I, output: O) =>
  ({ needs, input, output }) satisfies Operation
const nothing = z.object({})
/** Long lists are sent in parts. `next` is the `from` of the next part. */
const part = z.object({ from: offset.optional() })
const next = offset.nullable().default(null)
const removed = z.object({ removed: z.number().int() })

export const operations = {
  'daemon.probe': operation(
    null,
    nothing,
    z.object({
      now: time,
      uptime_seconds: z.number(),
      load: z.number(),
      memory_bytes: z.number().int(),
      memory_free_bytes: z.number().int(),
      /** Describes the file system of the home folder. Missing from earlier versions. */
      disk_bytes: z.number().int().nullable().default(null),
      disk_free_bytes: z.number().int().nullable().default(null),
      /** The home of the daemon's user. Missing from earlier versions. */
      home: path.nullable().default(null),
    }),
  ),
  /** Sets a new credential, saved to disk before the answer. The old one stays valid for `overlap_seconds`. */
  'daemon.rotate': operation(null, z.object({ credential: z.string(), overlap_seconds: z.number().int() }), nothing),

  /**
   * Runs a command. To the daemon: stdin, ended by `finish`. From it: first the event `{type: 'started', pid,
   * stdin}` with the number of stdin bytes received, then `stdout` and `stderr`. `from`: the offsets the caller
   * already has. A command that was running when its computer or keeper was killed is rejected as `interrupted`
   * with `details.lost` and never runs again. Keys are remembered for 8 days, longer than any retry.
   */
  exec: operation(
    'exec',
    z.object({
      key,
      argv: z.array(z.string()).min(1),
      cwd: path.nullable(),
      env,
      user: z.string().nullable(),
      timeout_ms: z.number().int().min(1).nullable(),
      stdin: z.boolean().describe('If false, the command gets end-of-file on stdin immediately.'),
      from: z.object({ stdout: offset, stderr: offset }),
      alone_ms: z
        .number()
        .int()
        .min(1)
        .max(2_147_483_647)
        .optional()
        .describe('The command is terminated if no one follows it for this long. If omitted: never.'),
      joins: z
        .literal(true)
        .optional()
        .describe(
          'Follows a command started by another call, in addition to that call. Returns `not_found` if there is none. Following doesn’t slow down the command, so it can miss output.',
        ),
    }),
    z.object({
      ...ended,
      timed_out: z.boolean(),
      started_at: time,
      duration_ms: z.number().int(),
      stdout_bytes: offset,
      stderr_bytes: offset,
    }),
  ),
  /**
   * Writes to a command with open stdin, on the channel `stdin`. `offset` must not exceed the bytes received;
   * repeated bytes are skipped. Ends once the command's pipe has taken them. `finish`: closes stdin afterwards.
   */
  'exec.write': operation(
    'exec',
    z.object({ key, offset, finish: z.boolean() }),
    z.object({ arrived: offset, running: z.boolean() }),
  ),
  /** Stops a command and its processes: with the given signal, or SIGTERM and SIGKILL after 2 s. */
  'exec.kill': operation('exec', z.object({ key, signal: signal.nullable() }), z.object({ found: z.boolean() })),

  'terminal.open': operation(
    'terminal',
    z.object({
      terminal_id: key,
      argv: z.array(z.string()).min(1).nullable(),
      cwd: path.nullable(),
      env,
      user: z.string().nullable(),
      cols,
      rows,
      name: z.string().nullable(),
    }),
    Terminal,
  ),
  'terminal.list': operation('terminal', part, z.object({ terminals: z.array(Terminal), next })),
  /** `data` is Base64. A repeated `seq` of a `viewer`, or a repeated `key`, is ignored. */
  'terminal.write': operation(
    'terminal',
    z.object({
      terminal_id: key,
      viewer: key,
      data: z.string(),
      seq: z.number().int().min(0).nullable(),
      key: key.optional(),
    }),
    Terminal,
  ),
  'terminal.resize': operation('terminal', z.object({ terminal_id: key, cols, rows }), Terminal),
  'terminal.close': operation('terminal', z.object({ terminal_id: key, signal: signal.nullable() }), Terminal),
  /**
   * Reads a terminal's output on the channel `body`, from `from` or, if null, the last `max_bytes`. Waits up to
   * `wait_ms` for the first byte. `screen`: first sends bytes that draw the screen, on the channel `snapshot`.
   */
  'terminal.read': operation(
    'terminal',
    z.object({
      terminal_id: key,
      from: offset.nullable(),
      max_bytes: z.number().int().min(1),
      wait_ms: z.number().int().min(0),
      screen: z.boolean(),
    }),
    z.object({
      terminal: Terminal,
      from: offset,
      offset,
      gap: z.boolean(),
      dropped_bytes: offset,
      at: offset.nullable(),
    }),
  ),
  /**
   * From the daemon: bytes on `body` from `from` on, and `TerminalEvent`s. To it: `ViewerEvent`s. A null `from`
   * starts with a snapshot.
   */
  'terminal.attach': operation(
    'terminal',
    z.object({ terminal_id: key, viewer: key, from: offset.nullable() }),
    nothing,
  ),

  /** Returns the folder where browsing starts: the home if allowed, else the first allowed folder. */
  'fs.start': operation('fs_read', nothing, z.object({ path })),
  'fs.list': operation(
    'fs_read',
    z.object({ path, cursor: z.string().nullable(), limit: z.number().int().min(1).max(1_000) }),
    z.object({ entries: z.array(Entry), next_cursor: z.string().nullable() }),
  ),
  'fs.stat': operation('fs_read', z.object({ path }), Entry),
  'fs.mkdir': operation('fs_write', z.object({ path, parents: z.boolean() }), Entry),
  /** Sends `{type: 'progress', removed}` every second. */
  'fs.remove': operation('fs_write', z.object({ path, recursive: z.boolean() }), removed),
  /**
   * First event: `{type: 'head', entry, length, etag}`, then bytes on `body`. `length` and `etag` are null for an
   * archive and for a file of unknown size, as in `/proc`.
   */
  'fs.read': operation(
    'fs_read',
    z.object({ path, offset, length: z.number().int().min(0).nullable(), archive: z.enum(['zip', 'tar']).nullable() }),
    z.object({ bytes: offset }),
  ),
  'fs.upload_offset': operation('fs_write', z.object({ path, key }), z.object({ offset })),
  /**
   * Removes the partial file of an upload. Rejected with `concurrency_limited` while it is being written. Missing
   * from earlier daemons.
   */
  'fs.upload_drop': operation('fs_write', z.object({ path, key }), z.object({})),
  /**
   * To the daemon: bytes on `body` from `offset`, which must equal `fs.upload_offset`. From it: `{type: 'offset',
   * offset}` with the bytes written. `complete`: the file ends with these bytes, and `finish` moves it into place.
   */
  'fs.write': operation(
    'fs_write',
    z.object({
      path,
      key,
      overwrite: z.boolean(),
      offset,
      size: z.number().int().min(0).nullable(),
      complete: z.boolean(),
      mode: z.number().int().min(0).max(0o777).nullable().default(null),
      modified_at: time.nullable().default(null),
    }),
    z.object({ offset, entry: Entry.nullable() }),
  ),

  'ports.list': operation('ports', part, z.object({ ports: z.array(ListeningPort), next })),
  /** Connects to 127.0.0.1, then ::1, of the computer only. Raw bytes both ways on `body`. */
  'ports.dial': operation('ports', z.object({ port: z.number().int().min(1).max(65_535) }), nothing),

  'users.list': operation('users', part, z.object({ users: z.array(MachineUser), next })),
  'users.create': operation(
    'users',
    z.object({ username: z.string(), shell: z.string().nullable(), groups: z.array(z.string()) }),
    MachineUser,
  ),
  'users.update': operation(
    'users',
    z.object({ username: z.string(), shell: z.string().nullable(), groups: z.array(z.string()).nullable() }),
    MachineUser,
  ),
  'users.delete': operation(
    'users',
    z.object({ username: z.string(), remove_home: z.boolean(), force: z.boolean() }),
    nothing,
  ),

  'engine.control': operation(
    'inference',
    z.object({
      action: z.enum(['start', 'stop', 'status', 'unload']),
      engine: engineName.nullable(),
      model: z.string().nullable(),
    }),
    z.object({
      engine: engineName.nullable(),
      engines: z.array(
        z.object({
          name: engineName,
          status: z.enum(['absent', 'installing', 'stopped', 'running', 'failed']),
          version: z.string().nullable(),
          reason: z.string().nullable(),
        }),
      ),
      loaded: z.array(z.string()),
      gpu: z.string().nullable(),
      memory_bytes: z.number().int().nullable(),
    }),
  ),
  'engine.models': operation(
    'inference',
    nothing,
    z.object({
      models: LocalModels,
      silent: z.array(engineName).default([]).describe('Engines that didn’t respond. Their models are unknown.'),
    }),
  ),
  /**
   * From the daemon: `InstallProgress`, up to twice a second and at each new phase. For source `upload`: first
   * `{type: 'offset', offset}`, then bytes to it on `body` from there. An interrupted installation of the same name
   * and source resumes, and a repeated key installs nothing twice.
   */
  'engine.install': operation(
    'inference',
    z.object({
      key,
      name: z.string(),
      source: z.discriminatedUnion('type', [
        z.object({ type: z.literal('engine'), engine: engineName }),
        z.object({ type: z.literal('url'), url: z.string(), sha256: z.string().nullable() }),
        z.object({ type: z.literal('upload'), size: z.number().int(), sha256: z.string() }),
        z.object({ type: z.literal('ollama'), model: z.string() }),
      ]),
    }),
    z.object({ digest: z.string().nullable(), size_bytes: z.number().int() }),
  ),
  'engine.remove': operation('inference', z.object({ name: z.string() }), nothing),
  /**
   * A model call in OpenAI's format for chat completions or embeddings, or a transcription: the request's JSON on
   * `body`, then `finish`. First event: `{type: 'head', status, content_type}`, then the response as JSON, or as
   * events if the request has `stream`. A transcription `{sample_rate, samples, language?}` has up to 30 seconds of
   * 16-bit little-endian mono samples in base64. Its response is `{text, language, words: [{word, start, end}] |
   * null}`, in seconds.
   */
  'engine.call': operation(
    'inference',
    z.object({ model: z.string(), path: z.enum(['chat/completions', 'embeddings', 'audio/transcriptions']) }),
    nothing,
  ),
} as const

export type OperationName = keyof typeof operations
export type Input<O extends OperationName> = z.input<(typeof operations)[O]['input']>
export type Output<O extends OperationName> = z.output<(typeof operations)[O]['output']>
