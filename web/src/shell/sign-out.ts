import { uk } from '../api.ts'
import { forgetKept } from '../drive/uploads/keep.ts'

/**
 * Signs out by loading a new page, and nothing of the person stays in the memory of this one. The server ends this
 * browser's pushes with the session.
 */
export async function leave(): Promise<void> {
  const { url } = await uk.ways_in.sign_out()
  await import('../install/push.ts').then(({ forgetPushes }) => forgetPushes()).catch(() => {})
  forgetKept()
  location.assign(url ?? '/app/sign-in')
}
