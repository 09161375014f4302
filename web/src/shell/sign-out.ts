import { uk } from '../api.ts'
import { forgetKept } from '../drive/uploads/keep.ts'

/**
 * By a new page: nothing of the person who was here stays in the memory of this one. The pushes of this browser end with
 * the session, at the server of themselves.
 */
export async function leave(): Promise<void> {
  const { url } = await uk.ways_in.sign_out()
  await import('../install/push.ts').then(({ forgetPushes }) => forgetPushes()).catch(() => {})
  forgetKept()
  location.assign(url ?? '/app/sign-in')
}
