import { PIECE, charactersOf } from '#core/json/json-pieces.ts'

/** The three tools, constant for both transports so that clients can cache them. */
export const toolNames = ['find', 'describe', 'do'] as const
export type ToolName = (typeof toolNames)[number]

export const isTool = (name: string): name is ToolName => (toolNames as readonly string[]).includes(name)

const name = { type: 'string', description: 'Endpoint name from `find`, such as `chats.list`.' }

export const tools = [
  {
    name: 'find',
    title: 'Find endpoints',
    description:
      'Search the endpoints of this platform (chats, agents, files, search, computers, automations, models, people, settings, …) by task. Returns the ones this key can call, best match first, with name, summary, scope and arguments. An empty query lists the areas.',
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
      'Get the full contract of an endpoint: JSON Schemas of its input and response, its errors, and an example. Read it before the first `do` unless the arguments are just an ID or two.',
    inputSchema: { type: 'object', properties: { name }, required: ['name'], additionalProperties: false },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: 'do',
    title: 'Call an endpoint',
    description:
      "Call an endpoint with this key's permissions. `input` is one flat object with the path, query and body fields. The result is the REST response: `{data}`, or `{data, pagination}` for lists (pass `pagination.next_cursor` as `cursor`). Errors are `{error: {type, message, code, param, details}}`. Background work returns an operation; wait for it with `operations.await`.",
    inputSchema: {
      type: 'object',
      properties: { name, input: { type: 'object', description: 'Fields from `describe`.', default: {} } },
      required: ['name'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  },
] as const

export const instructions =
  "Everything on this platform is an endpoint. `find` the one you need, `describe` it if its arguments aren't obvious, then `do` it."

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

/** A pending approval: the text to show, and the token that comes back with the answer. */
export interface ConsentQuestion {
  asks: { message: string; question: string }
}

/** Structured content for programs, and the same as text for models whose client shows only that. */
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
