/** The frame of all pages of somebody who is signed in. */
import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { queryClient } from '../api.ts'
import { keptToken } from '../invitations/token.ts'
import { sessionQuery } from '../session.ts'
import { BrokenAlone } from '../shell/states/broken.tsx'
import { root } from './entry.ts'

export const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    // A link that was handed over says first of all what it is about.
    if (location.pathname === '/invitations' && keptToken() !== null)
      throw redirect({ to: '/invitation', replace: true })
    const session = await queryClient.ensureQueryData(sessionQuery)
    if (session) return
    throw redirect({ to: '/sign-in', search: location.pathname === '/' ? {} : { next: location.href }, replace: true })
  },
  component: lazyRouteComponent(() => import('../shell/shell.tsx'), 'Shell'),
  errorComponent: BrokenAlone,
})
