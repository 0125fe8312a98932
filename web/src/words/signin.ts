export const words = {
  title: 'Sign in to Stoa',
  again: 'Sign in again',
  againText: 'Your session has ended. What you typed is kept.',
  username: 'Name or email',
  password: 'Password',
  show: 'Show the password',
  hide: 'Hide the password',
  action: 'Sign in',
  sso: 'Sign in with single sign-on',
  ssoFailed: 'The single sign-on worked, but it could not be used here:',
  firstStart:
    'The first administrator’s name and password were printed when the server started for the first time.',
};
