import { PIECE, charactersOf } from '#core/json/json-pieces.ts'

/** The three tools, as both transports list them: constant, so that clients may keep them and no start waits for them. */
export const toolNames = ['find', 'describe', 'do'] as const
export type ToolName = (typeof toolNames)[number]

export const isTool = (name: string): name is ToolName => (toolNames as readonly string[]).includes(name)

const name = { type: 'string', description: 'Such as `chats.list`, from `find`.' }

export const tools = [
  {
    name: 'find',
    title: 'Find endpoints',
    description:
      'Search the endpoints of this platform (chats, agents, files, search, computers, automations, models, people, settings, …) by what is to be done. Answers those that this key may call, best first: name, summary, scope, arguments. An empty query lists the areas.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'A few words, such as `rename a file`.' },
        limit: { type: 'integer', minimum: 1, maximum: 50, default: 10 },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: 'describe',
    title: 'Describe an endpoint',
    description:
      'The whole contract of one endpoint: JSON Schema of its input and of its answer, its errors, and an example. Read it before a first `do` whose arguments are more than an id or two.',
    inputSchema: { type: 'object', properties: { name }, required: ['name'], additionalProperties: false },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: 'do',
    title: 'Call an endpoint',
    description:
      'Call an endpoint with the rights of this key. `input` is one flat object: the fields of path, query and body together. The answer is that of the REST API: `{data}`, for lists `{data, pagination}` (pass `pagination.next_cursor` on as `cursor`). A refusal is `{error: {type, message, code, param, details}}`. Background work answers an operation, to be waited for with `operations.await`.',
    inputSchema: {
      type: 'object',
      properties: { name, input: { type: 'object', description: 'Fields as `describe` names them.', default: {} } },
      required: ['name'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  },
] as const

export const instructions =
  'Everything on this platform is an endpoint. `find` the one you need, `describe` it where its arguments are not plain, then `do` it.'

export type Content =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'resource_link'; uri: string; name: string; mimeType?: string; size?: number }

export interface ToolResult {
  content: Content[]
  structuredContent: Record<string, unknown>
  isError?: true
  _meta?: Record<string, unknown>
}

/** A person has to be asked before the call is made: what they read, and what comes back with their answer. */
export interface ConsentQuestion {
  asks: { message: string; question: string }
}

/** The same twice: for programs, and as text for models whose client shows them only that. */
export const toolResult = (structuredContent: Record<string, unknown>, ...further: Content[]): ToolResult => ({
  content: [jsonContent(structuredContent), ...further],
  structuredContent,
})

/** The text of a large value is written only when it is read: `/mcp` writes it in pieces instead. */
const jsonContent = (value: object): Content =>
  charactersOf(value) < PIECE
    ? { type: 'text', text: JSON.stringify(value) }
    : {
        type: 'text',
        get text() {
          return JSON.stringify(value)
        },
      }

export const toolRefusal = (body: { error: object }, requestId?: string): ToolResult => ({
  ...toolResult({ error: body.error }),
  isError: true,
  ...(requestId !== undefined && { _meta: { request_id: requestId } }),
})
