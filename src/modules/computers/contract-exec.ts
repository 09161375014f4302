import { z } from 'zod'
import { endpoint, idOut, one, operationOrEvents, words } from '#core/contract.ts'

/** A variable's value; neither name nor value can hold NUL. */
export const environment = z
  .record(
    z
      .string()
      .max(255)
      .regex(/^[^=\0]+$/, 'must be names without ='),
    words(32_768),
  )
  .describe('Beside those that the machine sets.')
export const argv = z.array(words(32_768)).min(1).max(1_000)
export const cwd = words(4_096).pipe(z.string().startsWith('/', 'must be an absolute path'))
export const machineUser = words(64).pipe(z.string().min(1))

const ended = {
  exit_code: z.number().int().nullable().describe('Null where a signal or the time-out ended it.'),
  signal: z.string().nullable(),
  timed_out: z.boolean(),
  truncated: z.boolean().describe('It put out more than is answered.'),
  duration_ms: z.number().int(),
}

export const ExecResult = z
  .object({
    id: idOut,
    ...ended,
    stdout: z.string().describe('What is not UTF-8 is replaced by U+FFFD.'),
    stderr: z.string(),
    stdout_base64: z.string().optional().describe('The bytes as they were; with `encoding: base64`.'),
    stderr_base64: z.string().optional(),
  })
  .meta({ id: 'ExecResult' })

const output = {
  data: z.string(),
  data_base64: z.string().optional().describe('With `encoding: base64`.'),
  offset: z.number().int().describe('Bytes that came before on the same channel.'),
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
        ...ended,
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

/** A command as it is typed; it fits into what can be asked over the link at once. */
const command = words(32_768).pipe(z.string().min(1))

export const exec = endpoint('POST /computers/:id/exec', {
  summary: 'Run a command on a computer',
  description:
    'Waits for its end. Another exit code than 0 is an answer like any other. Leaving ends it, with all that it has started. `background` goes on without you: an operation, whose content is the output so far, up to 8 MiB of each; its `result`, which lists show too, has the first MiB of each, and says where it was cut in `truncated`. With `Accept: text/event-stream` the output comes as it is put out: `exec.started`, `stdout` and `stderr`, at last `exec.completed`, or `exec.failed` where the computer was lost; with `background` too: then the `id` is the operation’s, and leaving ends only the telling.',
  scope: 'computer:exec',
  on: 'computer',
  capability: 'exec',
  body: {
    command: command.optional().describe('For `/bin/sh -c`.'),
    argv: argv.optional().describe('A program with its arguments, without a shell; instead of `command`.'),
    cwd: cwd.nullable().default(null).describe('Null: the home of its user.'),
    env: environment.default({}),
    user: machineUser.nullable().default(null).describe('Of the machine. Null: the one that the daemon runs as.'),
    timeout_ms: z
      .number()
      .int()
      .min(1)
      .max(86_400_000)
      .nullable()
      .optional()
      .describe('Default 60,000; in the background none. Null: none.'),
    stdin: words(1_048_576).optional().describe('What it reads. Without, it reads an end at once.'),
    stdin_base64: z.base64().optional().describe('The same as bytes.'),
    stdin_open: z
      .boolean()
      .default(false)
      .describe('It goes on reading behind `stdin` what `POST …/exec/:exec_id/stdin` writes, until that says `end`.'),
    encoding: z.enum(['utf-8', 'base64']).default('utf-8').describe('`base64`: the output also as bytes.'),
    max_output_bytes: z
      .number()
      .int()
      .min(1_024)
      .max(8_388_608)
      .optional()
      .describe(
        'Of each output. Default 8 MiB, the first. Named, or for an agent, which gets 32,768: the beginning and the end, and a line between them that says how much is left out.',
      ),
    background: z.boolean().default(false),
  },
  reply: operationOrEvents(ExecResult, ExecEvent),
  errors: ['computer_offline', 'timeout', 'not_supported', 'invalid_state', 'capability_denied'],
})

export const CommandStdin = z
  .object({
    exec_id: z.string(),
    offset: z.number().int().describe('How much of its stdin has arrived: where to go on.'),
    running: z.boolean().describe('False: it has ended, and reads no more.'),
  })
  .meta({ id: 'CommandStdin' })

export const exec_stdin = endpoint('POST /computers/:id/exec/:exec_id/stdin', {
  summary: 'Write to the stdin of a command that runs',
  description:
    'Of one that you began with `stdin_open` (anybody else’s is 404), by the `id` of `exec.started` or of its operation. Answers once the command’s pipe has taken it, or after 10 seconds with how far it is: send the rest from `offset` on. What is sent again is not read twice; an offset beyond what has arrived is 409 `stale_update`.',
  scope: 'computer:exec',
  on: 'computer',
  capability: 'exec',
  params: { exec_id: words(64).pipe(z.string().min(1)) },
  body: {
    offset: z.number().int().min(0).describe('Bytes of its stdin that came before, `stdin` of the call among them.'),
    data: words(524_288).optional().describe('What it reads next.'),
    data_base64: z.base64().max(699_052).optional().describe('The same as bytes.'),
    end: z.boolean().default(false).describe('Nothing comes behind it: the command reads its end.'),
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
