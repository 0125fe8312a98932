import App from './App.svelte';
import './app.css';
import { router } from '$lib/router.svelte';
import { session } from '$lib/session.svelte';
import { mount } from 'svelte';

router.start();
void session.start();
mount(App, { target: document.getElementById('app')! });
