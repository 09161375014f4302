import type { MuxOptions, OperationRequest } from '#daemon-protocol/link.ts'
import {
  type Capability,
  type Input,
  type OperationName,
  type Output,
  operations,
} from '#daemon-protocol/operations.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { shorten } from '#core/text/shorten.ts'

type Handler<O extends OperationName> = (
  input: Input<O>,
  stream: Stream,
  call: { signal: AbortSignal },
) => Promise<Output<O>>
/** Operations without a handler answer `not_supported`. */
export type Handlers = { [O in OperationName]?: Handler<O> }

/**
 * Answers server requests. Checks, in this order: the operation exists, the machine's owner allows it, its input is
 * valid. The server may be compromised, so only these checks count.
 */
export function serve(handlers: Handlers, allows: readonly Capability[]): MuxOptions['answer'] {
  return async ({ op, input }: OperationRequest, stream, call) => {
    if (!isOperation(op))
      return refuse('not_supported', { message: `This version of the daemon doesn’t support \`${shorten(op, 64)}\`.` })
    const { needs, input: schema } = operations[op]
    if (needs !== null && !allows.includes(needs))
      refuse('capability_denied', {
        message: `The computer doesn’t allow \`${needs}\`. Run \`uk computer run --allow …\` on it.`,
        details: { capability: needs, allows },
      })
    const { data, error } = schema.safeParse(input)
    if (error) {
      const [issue] = error.issues
      throw new Refusal('invalid_parameter', {
        message: `The input of \`${op}\` isn’t valid: ${issue?.message}.`,
        param: issue?.path.join('.') ?? '',
      })
    }
    // Each handler's input was parsed by its own schema.
    const handle: Handler<any> | undefined = handlers[op]
    if (handle === undefined)
      return refuse('not_supported', { message: `The daemon on this computer doesn’t support \`${op}\`.` })
    return handle(data, stream, call)
  }
}

const isOperation = (op: string): op is OperationName => Object.hasOwn(operations, op)
