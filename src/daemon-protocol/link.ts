/** Links with the operations and refusals of this product. */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { Refusal } from '#core/errors.ts'
import { type LinkErrors, type MuxOptions as AnyMuxOptions, Mux as AnyMux, type Pipe } from '#packages/mux/mux.ts'
import { overSocket as anyOverSocket } from '#packages/mux/over-socket.ts'
import { overWebSocket as anyOverWebSocket } from '#packages/mux/over-websocket.ts'
import type { Stream } from '#packages/mux/stream.ts'
import type { OperationName, Output } from './operations.ts'
import { readRefusal, refusalJson } from './shapes/refusal.ts'

export interface OperationRequest {
  op: string
  input: unknown
  /** Between servers: the computer that the operation is for. */
  computer_id?: string
  /** Between servers: the operation can continue over another link, so a stopping server doesn't wait for it. */
  movable?: boolean
}

export type MuxOptions = Omit<AnyMuxOptions<OperationRequest>, 'errors' | 'readRequest'>

/** `output` rejects with the daemon's `Refusal`, or with `LinkLost` or `StreamReset`. */
export interface AskedStream<O extends OperationName> extends Stream {
  readonly output: Promise<Output<O>>
}

const errors: LinkErrors = {
  toJson: refusalJson,
  fromJson: readRefusal,
  isExpected: (error) => error instanceof Refusal,
  tooManyStreams: () =>
    new Refusal('concurrency_limited', {
      message: 'The computer already has 1,024 calls in progress. Try again later.',
    }),
  tooLarge: () => new Refusal('payload_too_large', { message: 'The request to the computer is larger than 64 KiB.' }),
}

const readRequest: NonNullable<AnyMuxOptions<OperationRequest>['readRequest']> = ({
  op,
  input,
  computer_id,
  movable,
}) => ({
  op,
  input,
  ...(typeof computer_id === 'string' && { computer_id, movable: movable === true }),
})

export class Mux extends AnyMux<OperationRequest> {
  constructor(pipe: Pipe, options: MuxOptions) {
    super(pipe, { ...options, errors, readRequest })
  }

  override open<O extends OperationName>(request: OperationRequest & { op: O }): AskedStream<O> {
    return super.open(request) as AskedStream<O>
  }
}

export const overSocket = (socket: Socket, options: MuxOptions): Mux =>
  anyOverSocket(socket, (pipe) => new Mux(pipe, options))

export const overWebSocket = (socket: WebSocket, options: MuxOptions): Mux =>
  anyOverWebSocket(socket, (pipe) => new Mux(pipe, options))
