import { partOf } from '../part.ts'
import { Refusal } from '#core/errors.ts'
import type { Input, OperationName } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import type { Execs } from './execs/execs.ts'
import type { Terminals } from './terminals/terminals.ts'

export const KEEPER_OPERATIONS = [
  'exec',
  'exec.write',
  'exec.kill',
  'terminal.open',
  'terminal.list',
  'terminal.write',
  'terminal.resize',
  'terminal.close',
  'terminal.read',
  'terminal.attach',
] as const satisfies readonly OperationName[]
export type KeeperOperation = (typeof KEEPER_OPERATIONS)[number]

export interface Sessions {
  execs: Execs
  terminals: Terminals
}

/** Runs an operation. The daemon has already validated the input and checked permissions. */
export async function answer(
  { execs, terminals }: Sessions,
  op: string,
  input: unknown,
  stream: Stream,
  signal: AbortSignal,
): Promise<object> {
  switch (op as KeeperOperation) {
    case 'exec':
      return execs.exec(input as Input<'exec'>, stream, signal)
    case 'exec.write':
      return execs.write(input as Input<'exec.write'>, stream)
    case 'exec.kill':
      return execs.kill(input as Input<'exec.kill'>)
    case 'terminal.open':
      return terminals.open(input as Input<'terminal.open'>)
    case 'terminal.list': {
      const { rows, next } = partOf(terminals.list().terminals, (input as Input<'terminal.list'>).from)
      return { terminals: rows, next }
    }
    case 'terminal.write':
      return terminals.write(input as Input<'terminal.write'>)
    case 'terminal.resize':
      return terminals.resize(input as Input<'terminal.resize'>)
    case 'terminal.close':
      return terminals.close(input as Input<'terminal.close'>)
    case 'terminal.read':
      return terminals.read(input as Input<'terminal.read'>, stream, signal)
    case 'terminal.attach':
      return terminals.attach(input as Input<'terminal.attach'>, stream, signal)
    default:
      throw new Refusal('not_found', { message: `The keeper knows no ${op}.` })
  }
}
