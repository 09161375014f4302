import { z } from 'zod'
import { resource } from '#core/access.ts'
import { endpoint, idOut, one, operationOrEvents, words } from '#core/contract.ts'

/** Environment names and values can't contain NUL. */
export const environment = z
  .record(
    z
      .string()
      .max(255)
      .regex(/^[^=\0]+$/, 'must be names without `=`'),
    words(32_768),
  )
  .describe('Environment variables, in addition to those the computer sets.')
export const argv = z.array(words(32_768)).min(1).max(1_000)
export const cwd = words(4_096).pipe(z.string().startsWith('/', 'must be an absolute path'))
export const machineUser = words(64).pipe(z.string().min(1))

const exitFields = {
  exit_code: z.number().int().nullable().describe('Null if it was terminated by a signal or timed out.'),
  signal: z.string().nullable(),
  timed_out: z.boolean(),
  truncated: z.boolean().describe('Whether the output was longer than returned.'),
  duration_ms: z.number().int(),
}

export const ExecResult = z
  .object({
    id: idOut,
    ...exitFields,
    stdout: z.string().describe('Invalid UTF-8 is replaced by U+FFFD.'),
    stderr: z.string(),
    stdout_base64: z.string().optional().describe('The raw bytes, with `encoding: base64`.'),
    stderr_base64: z.string().optional(),
  })
  .meta({ id: 'ExecResult' })

const output = {
  data: z.string(),
  data_base64: z.string().optional().describe('With `encoding: base64`.'),
  offset: z.number().int().describe('The number of preceding bytes on the same channel.'),
}
const ExecEvent = z
  .discriminatedUnion('event', [
    z.object({
      event: z.literal('exec.started'),
      data: z.object({ id: idOut, pid: z.number().int().nullable() }),
    }),
    z.object({ event: z.literal('stdout'), data: z.object(output) }),
    z.object({ event: z.literal('stderr'), data: z.object(output) }),
    z.object({
      event: z.literal('exec.completed'),
      data: z.object({
        id: idOut,
        ...exitFields,
        stdout_bytes: z.number().int(),
        stderr_bytes: z.number().int(),
      }),
    }),
    z.object({
      event: z.literal('exec.failed'),
      data: z.object({ id: idOut, error: z.object({ type: z.string(), message: z.string() }).loose() }),
    }),
  ])
  .meta({ id: 'ExecEvent' })

/** A command must fit into one request over the link. */
const command = words(32_768).pipe(z.string().min(1))

export const exec = endpoint('POST /computers/:id/exec', {
  summary: 'Run a command on a computer',
  description:
    'Waits until the command exits. A nonzero exit code isn’t an error. If you disconnect, the command and all its child processes are terminated. With `background`, the command keeps running: the response is an operation whose content is the output so far, up to 8 MiB per stream. Its `result`, also in lists, contains the first 1 MiB of each, and `truncated` says which were cut off. With `Accept: text/event-stream`, output is streamed as `exec.started`, `stdout` and `stderr`, and finally `exec.completed`, or `exec.failed` if the computer was lost. With both, `id` is the operation’s ID, and disconnecting stops only the stream.',
  access: resource('computer', { scope: 'computer:exec', capability: 'exec' }),
  body: {
    command: command.optional().describe('A command line for `/bin/sh -c`.'),
    argv: argv.optional().describe('A program with arguments, run without a shell. Alternative to `command`.'),
    cwd: cwd.nullable().default(null).describe('The working directory. Null: the user’s home.'),
    env: environment.default({}),
    user: machineUser
      .nullable()
      .default(null)
      .describe('The operating system user to run as. Null: the user the daemon runs as.'),
    timeout_ms: z
      .number()
      .int()
      .min(1)
      .max(86_400_000)
      .nullable()
      .optional()
      .describe('Timeout in milliseconds. Default: 60,000, or none for background commands. Null: none.'),
    stdin: words(1_048_576).optional().describe('The content of stdin. If omitted, stdin is empty.'),
    stdin_base64: z.base64().optional().describe('The content of stdin as base64.'),
    stdin_open: z
      .boolean()
      .default(false)
      .describe('Keeps stdin open after `stdin`. Send more with `POST …/exec/:exec_id/stdin` until it sends `end`.'),
    encoding: z.enum(['utf-8', 'base64']).default('utf-8').describe('`base64`: also returns the output as raw bytes.'),
    max_output_bytes: z
      .number()
      .int()
      .min(1_024)
      .max(8_388_608)
      .optional()
      .describe(
        'Limit per output stream. By default, the first 8 MiB are returned. If you set a limit, or for agents (32,768), the start and end are returned, separated by a line that says how much was left out.',
      ),
    background: z.boolean().default(false),
  },
  reply: operationOrEvents(ExecResult, ExecEvent),
  errors: ['computer_offline', 'timeout', 'not_supported', 'invalid_state', 'capability_denied'],
})

export const CommandStdin = z
  .object({
    exec_id: z.string(),
    offset: z.number().int().describe('How many bytes of stdin have arrived, which is the offset to continue at.'),
    running: z.boolean().describe('False: the command has exited.'),
  })
  .meta({ id: 'CommandStdin' })

export const exec_stdin = endpoint('POST /computers/:id/exec/:exec_id/stdin', {
  summary: 'Write to the stdin of a running command',
  description:
    'For a command you started with `stdin_open`, identified by the `id` of `exec.started` or of its operation. Commands of others return 404. Returns once the command’s pipe accepted the bytes, or after 10 seconds with the offset reached: send the rest from `offset`. Bytes sent again aren’t read twice. An offset beyond what has arrived returns 409 `stale_update`.',
  access: resource('computer', { scope: 'computer:exec', capability: 'exec' }),
  params: { exec_id: words(64).pipe(z.string().min(1)) },
  body: {
    offset: z
      .number()
      .int()
      .min(0)
      .describe('The number of stdin bytes sent before, including `stdin` of the exec request.'),
    data: words(524_288).optional().describe('The next bytes of stdin, as text.'),
    data_base64: z.base64().max(699_052).optional().describe('The next bytes of stdin, as base64.'),
    end: z.boolean().default(false).describe('Closes stdin after these bytes.'),
  },
  reply: one(CommandStdin),
  errors: [
    'computer_offline',
    'timeout',
    'not_supported',
    'invalid_state',
    'capability_denied',
    'stale_update',
    'interrupted',
  ],
  beyond: true,
})
