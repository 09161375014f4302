/**
 * The operations that a server may ask of the daemon on a computer: one row each, with the capability that it needs
 * there. The daemon answers nothing else, and checks the capability against what the machine's owner allowed
 * (`--allow`).
 *
 * An operation is one stream on the link (`stream.ts`): OPEN carries `input`, END carries `output` or an error. In
 * between go bytes on numbered channels and small JSON events, as each row says.
 *
 * Whatever changes something carries a `key` made by the caller. Asked again with the same key after the link was lost,
 * the daemon does nothing twice: it goes on from the offsets in the new OPEN.
 */
import { z } from 'zod'
import type { Capability } from '#core/scopes.ts'
import { cols, ended, env, key, offset, path, rows, signal, time } from './shapes/fields.ts'
import { LocalModels, engineName } from './shapes/local-model.ts'
import { Terminal } from './shapes/terminal.ts'

export { CAPABILITIES, type Capability } from '#core/scopes.ts'

export { CHANNEL, type Channel } from './channels.ts'
export { MOST_MODELS } from './shapes/local-model.ts'
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

/** The progress of an installation; `total` is 0 where it cannot be told. */
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
  /** Null: part of being connected at all. */
  needs: Capability | null
  input: z.ZodType
  output: z.ZodType
}
const operation = <I extends z.ZodType, O extends z.ZodType>(needs: Capability | null, input: I, output: O) =>
  ({ needs, input, output }) satisfies Operation
const nothing = z.object({})
/** A list may be longer than what can be said at once: it comes in parts. `next`: the `from` of the next one. */
const part = z.object({ from: offset.optional() })
const next = offset.nullable().default(null)
const removed = z.object({ removed: z.number().int() })

export const operations = {
  /** Whether anybody is there, and how it goes. */
  'daemon.probe': operation(
    null,
    nothing,
    z.object({
      now: time,
      uptime_seconds: z.number(),
      load: z.number(),
      memory_bytes: z.number().int(),
      memory_free_bytes: z.number().int(),
      /** The size of the file system that the home lies on; earlier versions do not say it. */
      disk_bytes: z.number().int().nullable().default(null),
      disk_free_bytes: z.number().int().nullable().default(null),
      /** The home of the user that the daemon runs as; earlier versions do not say it. */
      home: path.nullable().default(null),
    }),
  ),
  /** A new credential, written to disk before it is answered; the old one goes on for `overlap_seconds`. */
  'daemon.rotate': operation(null, z.object({ credential: z.string(), overlap_seconds: z.number().int() }), nothing),

  /**
   * Runs a command. Bytes to the daemon: stdin, ended by `finish`. Bytes from it: `stdout`, `stderr`. First event from it:
   * `{type: 'started', pid, stdin}`, where `stdin` is how much of it has arrived. `from`: what the caller has of each. A
   * command of which nobody knows the end, as its computer or its keeper was killed, is refused as `interrupted` with
   * `details.lost`, and never runs again. A key is known for 8 days: longer than anybody asks again.
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
   * Bytes to a command whose stdin was left open, on the channel `stdin`, from `offset` on, which is at most how much of it
   * has arrived: what came before is not given to it twice. It ends once the command's pipe has taken them. `finish`: the
   * command reads its end behind them.
   */
  'exec.write': operation(
    'exec',
    z.object({ key, offset, finish: z.boolean() }),
    z.object({ arrived: offset, running: z.boolean() }),
  ),
  /** Ends a command and all that it started: SIGTERM, after 2 s SIGKILL, or the signal named. */
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
  /** `data` is Base64. `seq` counts per `viewer`; one that was seen is ignored, and so is a `key` that was. */
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
   * Reads a terminal's output, on the channel `body`, from `from` (the last `max_bytes` where it is null), waiting up
   * to `wait_ms` for the first byte; with `screen`, the bytes that draw its screen on the channel `snapshot` first.
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
  /** Bytes from the daemon on `body` from `from` on, `TerminalEvent`s between them; to it `ViewerEvent`s. Null: a snapshot first. */
  'terminal.attach': operation(
    'terminal',
    z.object({ terminal_id: key, viewer: key, from: offset.nullable() }),
    nothing,
  ),

  /** Answers the folder where browsing starts: the home if it is allowed, else the first allowed folder. */
  'fs.start': operation('fs_read', nothing, z.object({ path })),
  'fs.list': operation(
    'fs_read',
    z.object({ path, cursor: z.string().nullable(), limit: z.number().int().min(1).max(1_000) }),
    z.object({ entries: z.array(Entry), next_cursor: z.string().nullable() }),
  ),
  'fs.stat': operation('fs_read', z.object({ path }), Entry),
  'fs.mkdir': operation('fs_write', z.object({ path, parents: z.boolean() }), Entry),
  /** Events from the daemon: `{type: 'progress', removed}`, once a second. */
  'fs.remove': operation('fs_write', z.object({ path, recursive: z.boolean() }), removed),
  /**
   * First event from the daemon: `{type: 'head', entry, length, etag}`; then its bytes on `body`. `length` and `etag` are
   * null for an archive and for a file whose size is not known before its end, such as those in `/proc`.
   */
  'fs.read': operation(
    'fs_read',
    z.object({ path, offset, length: z.number().int().min(0).nullable(), archive: z.enum(['zip', 'tar']).nullable() }),
    z.object({ bytes: offset }),
  ),
  /** Answers how much of an upload lies on the computer. */
  'fs.upload_offset': operation('fs_write', z.object({ path, key }), z.object({ offset })),
  /**
   * Removes the part of an upload. Refuses with `concurrency_limited` while the upload is being written. Earlier daemons
   * don't know the operation.
   */
  'fs.upload_drop': operation('fs_write', z.object({ path, key }), z.object({})),
  /**
   * Bytes to the daemon on `body`, from `offset` on, which must be what `fs.upload_offset` says. Its events: `{type: 'offset',
   * offset}`, how far it has written. `complete`: these are the last ones, and `finish` puts the file in its place, once.
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
  /** A connection to 127.0.0.1, then ::1, of the computer, and nowhere else: raw bytes both ways on `body`. */
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
   * Events from the daemon: `InstallProgress`, at most two a second and at each new phase. Where the source is `upload`:
   * `{type: 'offset', offset}` first, then bytes to it on `body` from there on. What was broken off goes on where it was
   * left, by the same name and source; asked again with its key, a model that was installed is not installed twice.
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
   * A model call in the shape of OpenAI's chat completions or embeddings, or a transcription: the request's JSON on `body`, then `finish`. First
   * event from the daemon: `{type: 'head', status, content_type}`; then the answer's JSON, or its events where the request
   * says `stream`. For a transcription `{sample_rate, samples, language?}`, samples of 16 bit, little-endian, mono, in base64, up to
   * 30 seconds of them; answered by `{text, language, words: [{word, start, end}] | null}`, in seconds.
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
