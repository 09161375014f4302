import { z } from 'zod'
import { base, deleted, endpoint, id, idOut, one, operation, page, time, words } from '#core/contract.ts'
import { Operation, operationStatus } from '#modules/operations/contract.ts'

const engine = z.enum(['llama', 'sherpa', 'ollama']).describe('`sherpa` is sherpa-onnx, which writes down speech.')
/** The name of a model; longer than any of Ollama's, which may name a host, a person and a tag. */
const modelName = words(200).pipe(z.string().trim().min(1))
const ggufName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,99}$/,
    'must begin with a letter or digit, and have only these, `.`, `_`, `:` and `-`',
  )

export const LocalInference = z
  .object({
    id: idOut.describe('Of the computer.'),
    created_at: time.describe('Of the computer.'),
    engine: engine.nullable().describe('The one that is meant where none is named.'),
    engines: z.array(
      z.object({
        name: engine,
        status: z.enum(['absent', 'installing', 'stopped', 'running', 'failed']),
        version: z.string().nullable(),
        reason: z.string().nullable().describe('Why it is so, where it is not running.'),
      }),
    ),
    loaded: z.array(z.string()).describe('Models in memory, by name.'),
    gpu: z.string().nullable(),
    memory_bytes: z.number().int().nullable().describe('That the engine takes; null: not known, or none.'),
  })
  .meta({ id: 'LocalInference' })

export const LocalModel = z
  .object({
    ...base,
    computer_id: idOut,
    name: z.string().describe('Called as the model `local/<name>`.'),
    engine,
    size_bytes: z.number().int(),
    digest: z.string().nullable(),
    context_length: z.number().int().nullable(),
    quantization: z.string().nullable(),
    status: z.enum(['installing', 'ready', 'broken']),
    mapping: z.string().nullable().describe('The platform id of a model that it answers for as well.'),
    loaded: z.boolean(),
  })
  .meta({ id: 'LocalModel' })

export const LocalInferenceOperation = Operation.extend({
  computer_id: idOut,
  local_model_id: idOut.nullable().describe('Null where an engine is installed.'),
  phase: z.enum(['resolving', 'downloading', 'verifying', 'loading', 'removing']).nullable(),
  bytes_done: z.number().int(),
  bytes_total: z.number().int().nullable().describe('Null where it cannot be told.'),
}).meta({ id: 'LocalInferenceOperation' })

const reading = { scope: 'computer:read', on: 'computer', capability: 'inference' } as const
const using = { scope: 'computer:write', on: 'computer', capability: 'inference' } as const
const offline = ['computer_offline', 'timeout', 'interrupted', 'engine_not_ready', 'not_supported'] as const

export const localInference = {
  local_inference: endpoint('POST /computers/:id/local-inference', {
    summary: 'Start, stop or look at the engine of a computer for local models',
    description:
      '`start` of llama.cpp where it is absent installs it: 202 and an operation. `unload` frees the memory that models take. Ollama is started where it is installed, and stopped on the machine itself.',
    ...using,
    body: {
      action: z.enum(['start', 'stop', 'status', 'unload']),
      engine: engine.optional().describe('Default: llama.cpp where it is installed, else a running Ollama.'),
      model: modelName.optional().describe('For `unload`: only this one.'),
    },
    reply: operation(LocalInference),
    errors: offline,
  }),
  local_models: endpoint('GET /computers/:id/local-inference/models', {
    summary: 'List the local models of a computer',
    description: 'As its daemon says; of a computer that is not connected, as it last said.',
    ...reading,
    reply: page(LocalModel),
  }),
  install_local_model: endpoint('POST /computers/:id/local-inference/models', {
    summary: 'Install a local model',
    description:
      'A GGUF file from an address or from the drive, or a model of Ollama’s library. It goes on where it was when the connection or a server broke, and its bytes are checked before it counts. The disk must have room for it: else the operation fails with `storage_full`, 507.',
    ...using,
    body: {
      source: z
        .union([
          z.strictObject({
            url: z.url({ protocol: /^https?$/ }).max(2_048),
            sha256: z
              .string()
              .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits')
              .optional(),
          }),
          z.strictObject({ file_id: id.describe('A file of the drive.') }),
          z.strictObject({ ollama: modelName.describe('As `ollama pull` takes it.') }),
        ])
        .meta({
          description: 'One of `{url, sha256?}`, `{file_id}`, `{ollama}`.',
          example: { url: 'https://example.com/small.gguf' },
        }),
      name: ggufName.optional().describe('Default: that of its file. Ollama’s models keep their own.'),
    },
    reply: operation(LocalInferenceOperation),
    status: 202,
    errors: [...offline, 'already_exists', 'limit_reached'],
  }),
  remove_local_model: endpoint('DELETE /computers/:id/local-inference/models/:local_model_id', {
    summary: 'Remove a local model from a computer',
    description: 'Its file is deleted. For those whose computer it is.',
    ...using,
    consent: 'person',
    reply: deleted,
    errors: [...offline, 'invalid_state'],
  }),
  map_local_model: endpoint('PATCH /computers/:id/local-inference/models/:local_model_id/mapping', {
    summary: 'Let a local model answer for a model of the platform, or no longer',
    description:
      'Who calls that model and may use this computer for `inference` gets its answers, at no cost: in the workspace that the computer belongs to beside other providers, elsewhere only where nobody else serves the model. For the admins of that workspace; a computer that is transferred maps nothing until its new owner says so.',
    ...using,
    role: 'admin',
    body: {
      model: words(200)
        .pipe(z.string().regex(/^[^\s/]+\/\S+$/, 'must be like `provider/model`'))
        .refine((slug) => !/^(local|sim)\//.test(slug), '`local/…` and `sim/…` are names of their own')
        .nullable()
        .meta({ description: '`provider/model`; null: none.', example: 'openai/gpt-5-mini' }),
    },
    reply: one(LocalModel),
    errors: ['invalid_state'],
  }),
  local_operations: endpoint('GET /computers/:id/local-inference/operations', {
    summary: 'List what is and was installed on a computer for local models, newest first',
    ...reading,
    query: { status: operationStatus.optional().describe('Only those. Default: all.') },
    reply: page(LocalInferenceOperation),
  }),
  cancel_local_operation: endpoint('POST /computers/:id/local-inference/operations/:operation_id/cancel', {
    summary: 'Cancel an installation',
    description:
      'It ends within 2 seconds. What was downloaded is kept for a week, and gone on with if it is asked for again.',
    ...using,
    reply: one(LocalInferenceOperation),
    errors: ['invalid_state'],
  }),
}
