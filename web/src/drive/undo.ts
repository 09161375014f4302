import { sayError } from '../api.ts'
import { say, sayUndo } from '../ui/dialogs/toast.tsx'

/** Takes back what was done, once it is done, and answers what to say of it; null: there was nothing to take back. */
type Undo = () => Promise<string | null>

/** What this person did here and can take back, the newest last. */
const done: Undo[] = []
const MOST = 50

/**
 * Can be taken back from the moment on at which it was asked for, also before the server has answered. Says that it was
 * done, and offers to take it back.
 */
export async function withUndo<T>(
  work: Promise<T>,
  about: (result: T) => { did: string; back: string; undo: () => Promise<unknown> } | null,
): Promise<T> {
  const undo: Undo = async () => {
    const deed = about(await work)
    await deed?.undo()
    return deed?.back ?? null
  }
  done.push(undo)
  if (done.length > MOST) done.shift()
  const forget = (): void => void done.splice(done.indexOf(undo), done.includes(undo) ? 1 : 0)
  try {
    const result = await work
    const deed = about(result)
    if (deed === null) forget()
    else if (done.includes(undo)) sayUndo(deed.did, () => takeBack(undo))
    return result
  } catch (error) {
    forget()
    throw error
  }
}

/** Takes back this deed, or the last one. */
export async function takeBack(undo: Undo | undefined = done.at(-1)): Promise<void> {
  const at = undo === undefined ? -1 : done.indexOf(undo)
  if (undo === undefined || at === -1) return say('There is nothing to undo')
  done.splice(at, 1)
  try {
    const back = await undo()
    if (back !== null) say(back)
  } catch (error) {
    say(`It could not be undone. ${sayError(error)}`)
  }
}
