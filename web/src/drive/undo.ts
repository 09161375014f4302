import { sayError } from '../ui/calls/errors.ts'
import { say, sayUndo } from '../ui/toast/toast.tsx'

/** Reverts an action once it is complete, and returns a message; null: there was nothing to revert. */
type Undo = () => Promise<string | null>

const done: Undo[] = []
const MAX = 50

/** Runs an action that can be undone from the moment it starts, and shows a toast with Undo. */
export async function withUndo<T>(
  work: Promise<T>,
  about: (result: T) => { did: string; back: string; undo: () => Promise<unknown> } | null,
): Promise<T> {
  const undo: Undo = async () => {
    const undoable = about(await work)
    await undoable?.undo()
    return undoable?.back ?? null
  }
  done.push(undo)
  if (done.length > MAX) done.shift()
  const forget = (): void => void done.splice(done.indexOf(undo), done.includes(undo) ? 1 : 0)
  try {
    const result = await work
    const undoable = about(result)
    if (undoable === null) forget()
    else if (done.includes(undo)) sayUndo(undoable.did, () => takeBack(undo))
    return result
  } catch (error) {
    forget()
    throw error
  }
}

export async function takeBack(undo: Undo | undefined = done.at(-1)): Promise<void> {
  const at = undo === undefined ? -1 : done.indexOf(undo)
  if (undo === undefined || at === -1) return say('Nothing to undo')
  done.splice(at, 1)
  try {
    const back = await undo()
    if (back !== null) say(back)
  } catch (error) {
    say(`Couldn’t undo. ${sayError(error)}`)
  }
}
